/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/value.h>

#include "tests/support/testing.h"

static void each_word_has_the_kind_and_size_of_its_c_type(void **state)
{
    static const struct {
        const struct rapahub_type *type;
        enum rapahub_kind kind;
        const char *word;
        size_t size;
    } cases[] = {
        {&rapahub_type_void, RAPAHUB_KIND_VOID, "void", 0},
        {&rapahub_type_bool, RAPAHUB_KIND_BOOL, "bool", sizeof(rapahub_t_bool)},
        {&rapahub_type__Bool, RAPAHUB_KIND_BOOL, "bool", sizeof(rapahub_t__Bool)},
        {&rapahub_type_i8, RAPAHUB_KIND_I8, "i8", sizeof(rapahub_t_i8)},
        {&rapahub_type_i16, RAPAHUB_KIND_I16, "i16", sizeof(rapahub_t_i16)},
        {&rapahub_type_i32, RAPAHUB_KIND_I32, "i32", sizeof(rapahub_t_i32)},
        {&rapahub_type_i64, RAPAHUB_KIND_I64, "i64", sizeof(rapahub_t_i64)},
        {&rapahub_type_u8, RAPAHUB_KIND_U8, "u8", sizeof(rapahub_t_u8)},
        {&rapahub_type_u16, RAPAHUB_KIND_U16, "u16", sizeof(rapahub_t_u16)},
        {&rapahub_type_u32, RAPAHUB_KIND_U32, "u32", sizeof(rapahub_t_u32)},
        {&rapahub_type_u64, RAPAHUB_KIND_U64, "u64", sizeof(rapahub_t_u64)},
        {&rapahub_type_f32, RAPAHUB_KIND_F32, "f32", sizeof(rapahub_t_f32)},
        {&rapahub_type_f64, RAPAHUB_KIND_F64, "f64", sizeof(rapahub_t_f64)},
        {&rapahub_type_string, RAPAHUB_KIND_STRING, "string", sizeof(rapahub_t_string)},
        {&rapahub_type_bytes, RAPAHUB_KIND_BYTES, "bytes", sizeof(rapahub_t_bytes)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(cases[i].type->kind, cases[i].kind);
        assert_string_equal(cases[i].type->word, cases[i].word);
        assert_int_equal(cases[i].type->size, cases[i].size);
        assert_null(cases[i].type->members);
    }
}

static void a_string_of_null_is_empty(void **state)
{
    const char *text = "text";

    (void)state;
    assert_int_equal(rapahub_string_of(NULL).size, 0);
    assert_int_equal(rapahub_string_of(text).size, 4);
    assert_ptr_equal(rapahub_string_of(text).data, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_has_the_kind_and_size_of_its_c_type),
        cmocka_unit_test(a_string_of_null_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

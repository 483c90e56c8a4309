/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "tests/support/testing.h"
#include "tests/support/vectors.h"

static void a_vector_is_found_by_name_and_decoded(void **state)
{
    struct vectors *all = vectors_open();
    const struct vector *vector = vectors_find(all, "response-ok-8");

    (void)state;
    assert_string_equal(vector->kind, "response");
    assert_int_equal(vector->size, 3);
    assert_memory_equal(vector->bytes, "\x00\x00\x10", 3);
    assert_int_equal(vectors_i64(vectors_member(vectors_element(vector->value, 1), "ok")), 8);
    vectors_close(all);
}

static void a_kind_is_walked_from_its_first_vector_to_its_last(void **state)
{
    struct vectors *all = vectors_open();
    size_t of_kind = 0, of_any = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(all, "postcard", v)) != NULL; of_kind++)
        assert_string_equal(v->kind, "postcard");
    for (const struct vector *v = NULL; (v = vectors_next(all, NULL, v)) != NULL; of_any++)
        assert_non_null(v->bytes);
    assert_true(of_kind > 0 && of_kind < of_any);
    assert_int_equal(of_kind, vectors_count(all, "postcard"));
    assert_null(vectors_next(all, "no such kind", NULL));
    vectors_close(all);
}

static void integers_of_64_bits_are_read_from_text(void **state)
{
    struct vectors *all = vectors_open();
    const struct vector *empty = vectors_find(all, "method-id-empty");

    (void)state;
    assert_true(vectors_u64(vectors_find(all, "u64-18446744073709551615")->value) == UINT64_MAX);
    assert_int_equal(vectors_u64(vectors_find(all, "u32-max")->value), UINT32_MAX);
    assert_int_equal(vectors_i64(vectors_find(all, "i16--32768")->value), -32768);
    assert_true(vectors_hex(vectors_member(empty->value, "id")) == 0xcbf29ce484222325);
    vectors_close(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_is_found_by_name_and_decoded),
        cmocka_unit_test(a_kind_is_walked_from_its_first_vector_to_its_last),
        cmocka_unit_test(integers_of_64_bits_are_read_from_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

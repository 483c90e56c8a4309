/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/method.h>

#include "hub/wire/words.h"
#include "tests/support/testing.h"

/* What a function saw. */
static struct {
    int64_t a, b;
    uint64_t c, d;
    struct rapahub_bytes bytes;
    const char *text;
} seen;

static int integers(void *self, int8_t a, int32_t b, uint16_t c, uint64_t d)
{
    seen.a = a;
    seen.b = b;
    seen.c = c;
    seen.d = d;
    return *(int *)self;
}

/* Looks at whole registers, as no C function of small integers does that gcc makes. */
static int registers(uint64_t a, uint64_t b, uint64_t c)
{
    seen.c = a;
    seen.a = (int64_t)b;
    seen.d = c;
    return 0;
}

static int flags(void *self, bool flag)
{
    (void)self;
    return flag;
}

static int views(void *self, struct rapahub_bytes bytes, struct rapahub_string text, uint8_t c)
{
    seen.bytes = bytes;
    seen.text = text.data;
    seen.c = c;
    return *(int *)self + (int)text.size;
}

static const struct rapahub_type *type_of(enum rapahub_kind kind)
{
    static const struct rapahub_type *const types[] = {
        [RAPAHUB_KIND_BOOL] = &rapahub_type_bool,   [RAPAHUB_KIND_I8] = &rapahub_type_i8,
        [RAPAHUB_KIND_I32] = &rapahub_type_i32,     [RAPAHUB_KIND_I64] = &rapahub_type_i64,
        [RAPAHUB_KIND_U8] = &rapahub_type_u8,       [RAPAHUB_KIND_U16] = &rapahub_type_u16,
        [RAPAHUB_KIND_U64] = &rapahub_type_u64,     [RAPAHUB_KIND_F32] = &rapahub_type_f32,
        [RAPAHUB_KIND_F64] = &rapahub_type_f64,     [RAPAHUB_KIND_STRING] = &rapahub_type_string,
        [RAPAHUB_KIND_BYTES] = &rapahub_type_bytes,
    };

    return types[kind];
}

/* Small ones are as wide as a register, with their sign: a callee may rely on it. */
static void integers_of_all_sizes_arrive_as_they_are(void **state)
{
    int status = -4105;
    struct {
        void *self;
        int8_t a;
        int32_t b;
        uint16_t c;
        uint64_t d;
    } memory = {&status, INT8_MIN, -2, UINT16_MAX, UINT64_MAX - 1};
    struct hub_words words = {0};

    (void)state;
    assert_true(hub_words_add_pointer(&words, offsetof(__typeof__(memory), self)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I8), offsetof(__typeof__(memory), a)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I32), offsetof(__typeof__(memory), b)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U16), offsetof(__typeof__(memory), c)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U64), offsetof(__typeof__(memory), d)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))integers, &memory), -4105);
    assert_int_equal(seen.a, INT8_MIN);
    assert_int_equal(seen.b, -2);
    assert_int_equal(seen.c, UINT16_MAX);
    assert_int_equal(seen.d, UINT64_MAX - 1);
}

/* What lies behind a small one is no part of it. */
static void small_ones_are_extended_to_registers(void **state)
{
    struct {
        uint8_t a, behind_a[7];
        int8_t b, behind_b[7];
        uint16_t c, behind_c[3];
    } memory;
    struct hub_words words = {0};

    (void)state;
    memset(&memory, 0x5a, sizeof memory);
    memory.a = 200;
    memory.b = INT8_MIN;
    memory.c = UINT16_MAX;
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U8), offsetof(__typeof__(memory), a)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I8), offsetof(__typeof__(memory), b)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U16), offsetof(__typeof__(memory), c)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))registers, &memory), 0);
    assert_int_equal(seen.c, 200);
    assert_int_equal(seen.a, INT8_MIN);
    assert_int_equal(seen.d, UINT16_MAX);
}

static void a_flag_arrives_as_it_is(void **state)
{
    struct {
        void *self;
        bool flag;
    } memory = {NULL, true};
    struct hub_words words = {0};

    (void)state;
    assert_true(hub_words_add_pointer(&words, offsetof(__typeof__(memory), self)));
    assert_true(
        hub_words_add(&words, type_of(RAPAHUB_KIND_BOOL), offsetof(__typeof__(memory), flag)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))flags, &memory), 1);
    memory.flag = false;
    assert_int_equal(hub_words_call(&words, (void (*)(void))flags, &memory), 0);
}

static void a_view_is_two_words(void **state)
{
    static const char text[] = "abc";
    int status = 7;
    struct {
        void *self;
        struct rapahub_bytes bytes;
        struct rapahub_string text;
        uint8_t c;
    } memory = {&status, {text + 1, 2}, {text, 3}, 200};
    struct hub_words words = {0};

    (void)state;
    assert_true(hub_words_add_pointer(&words, offsetof(__typeof__(memory), self)));
    assert_true(
        hub_words_add(&words, type_of(RAPAHUB_KIND_BYTES), offsetof(__typeof__(memory), bytes)));
    assert_true(
        hub_words_add(&words, type_of(RAPAHUB_KIND_STRING), offsetof(__typeof__(memory), text)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U8), offsetof(__typeof__(memory), c)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))views, &memory), 10);
    assert_ptr_equal(seen.bytes.data, text + 1);
    assert_int_equal(seen.bytes.size, 2);
    assert_ptr_equal(seen.text, text);
    assert_int_equal(seen.c, 200);
}

/* The conventions put what does not fit, or is a float, elsewhere. */
static void what_needs_more_than_registers_is_refused(void **state)
{
    struct hub_words words = {0};

    (void)state;
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_F32), 0));
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_F64), 0));
    for (int i = 0; i < HUB_WORDS_MAX - 1; i++)
        assert_true(hub_words_add_pointer(&words, 0));
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_BYTES), 0));
    assert_int_equal(words.count, HUB_WORDS_MAX - 1);
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I64), 0));
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_I64), 0));
    assert_false(hub_words_add_pointer(&words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_all_sizes_arrive_as_they_are),
        cmocka_unit_test(small_ones_are_extended_to_registers),
        cmocka_unit_test(a_flag_arrives_as_it_is),
        cmocka_unit_test(a_view_is_two_words),
        cmocka_unit_test(what_needs_more_than_registers_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/invoke.h"
#include "hub/wire/payload.h"
#include "tests/support/testing.h"

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));

struct wide {
    uint8_t a;
    int64_t b;
    uint16_t c;
    float d;
    struct point at;
};
RAPAHUB_RECORD(wide, RAPAHUB_MEMBER(wide, a, u8), RAPAHUB_MEMBER(wide, b, i64),
               RAPAHUB_MEMBER(wide, c, u16), RAPAHUB_MEMBER(wide, d, f32),
               RAPAHUB_MEMBER(wide, at, point));

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

static int8_t negate8(int8_t a)
{
    return (int8_t)-a;
}

static int16_t negate16(int16_t a)
{
    return (int16_t)-a;
}

static int32_t negate32(int32_t a)
{
    return -a;
}

static uint8_t next8(uint8_t a)
{
    return (uint8_t)(a + 1);
}

static uint16_t next16(uint16_t a)
{
    return (uint16_t)(a + 1);
}

static uint32_t next32(uint32_t a)
{
    return a + 1;
}

static bool is_odd(uint64_t a)
{
    return a & 1;
}

static float half32(float a)
{
    return a / 2;
}

static double half64(double a)
{
    return a / 2;
}

static struct point mirror(struct point at)
{
    return (struct point){at.y, at.x};
}

static struct wide same(struct wide wide)
{
    return wide;
}

static const char *pick(const char *text, uint32_t from)
{
    return from > 100 ? NULL : text + from;
}

static uint64_t compare(const char *a, const char *b)
{
    return !strcmp(a, "one") && !strcmp(b, "two");
}

static uint64_t checksum(const char *text, const void *data, size_t size)
{
    uint64_t sum = strlen(text);

    for (size_t i = 0; i < size; i++)
        sum += ((const uint8_t *)data)[i];
    return sum;
}

static void nothing(void)
{
}

/* A library's function may have more parameters than one of ours; most are on the stack. */
#define SIXTEEN                                                                               \
    int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h, \
        int8_t i, float j, double k, bool l, int8_t m, struct point n, int16_t o, int64_t p

static int64_t sixteen(SIXTEEN)
{
    int64_t low = a + b + c + d + e + g + (int64_t)f + (int64_t)h;

    return low + i + (int64_t)j + (int64_t)k + l + m + (int64_t)(n.x + n.y) + o + p;
}

static const char *endless(void)
{
    static char text[HUB_INVOKE_TEXT_MAX + 1];

    memset(text, 'x', sizeof(text));
    return text;
}

/* Makes methods that the macros cannot, which know no C strings. */
static struct rapahub_method plain(const char *name, const struct rapahub_type *const *types,
                                   void (*function)(void))
{
    return (struct rapahub_method){name, types, function, RAPAHUB_METHOD_PLAIN};
}

struct run {
    struct hub_invoke *plan;
    struct hub_outcome outcome;
    int r;
};

/* Prepares and runs once with the values at the addresses. */
static struct run run(const struct rapahub_method *method, void *self, const void *const *values)
{
    struct run run = {NULL, {-1, NULL}, 0};
    uint8_t data[512];
    struct hub_writer writer;
    struct hub_reader reader;

    hub_writer_init(&writer, data, sizeof(data));
    hub_payload_put_arguments(&writer, method->types + 1, values);
    assert_int_equal(writer.failure, 0);
    run.r = hub_invoke_prepare(method, &run.plan);
    if (run.r < 0)
        return run;
    hub_reader_init(&reader, data, writer.size);
    run.r =
        hub_invoke_call(run.plan, &(struct hub_invoke_target){self, NULL}, &reader, &run.outcome);
    return run;
}

static void small_integers_come_back_whole(void **state)
{
    const struct rapahub_method methods[] = {
        RAPAHUB_PLAIN(negate8, negate8, i8, i8),     RAPAHUB_PLAIN(negate16, negate16, i16, i16),
        RAPAHUB_PLAIN(negate32, negate32, i32, i32), RAPAHUB_PLAIN(next8, next8, u8, u8),
        RAPAHUB_PLAIN(next16, next16, u16, u16),     RAPAHUB_PLAIN(next32, next32, u32, u32),
        RAPAHUB_PLAIN(is_odd, is_odd, bool, u64),
    };
    const int8_t a = 100;
    const int16_t b = -30000;
    const int32_t c = INT32_MAX;
    const uint8_t d = 254;
    const uint16_t e = 65534;
    const uint32_t f = UINT32_MAX;
    const uint64_t g = UINT64_MAX;
    const void *const values[] = {&a, &b, &c, &d, &e, &f, &g};
    const int8_t ra = -100;
    const int16_t rb = 30000;
    const int32_t rc = -INT32_MAX;
    const uint8_t rd = 255;
    const uint16_t re = 65535;
    const uint32_t rf = 0;
    const bool rg = true;
    const void *const expected[] = {&ra, &rb, &rc, &rd, &re, &rf, &rg};

    (void)state;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct run done = run(&methods[i], NULL, &values[i]);

        assert_int_equal(done.r, 0);
        assert_int_equal(memcmp(done.outcome.result, expected[i], methods[i].types[0]->size), 0);
        hub_invoke_release(&done.plan);
    }
}

static void plain_functions_return_numbers_and_records(void **state)
{
    const struct rapahub_method methods[] = {
        RAPAHUB_PLAIN(gcd, gcd, u64, u64, u64),  RAPAHUB_PLAIN(half32, half32, f32, f32),
        RAPAHUB_PLAIN(half64, half64, f64, f64), RAPAHUB_PLAIN(mirror, mirror, point, point),
        RAPAHUB_PLAIN(same, same, wide, wide),   RAPAHUB_PLAIN(nothing, nothing, void, void)};
    const uint64_t a = 84, b = 36;
    const void *const numbers[] = {&a, &b};
    const float single = 3;
    const double twice = 5;
    const struct point at = {1, 2};
    const struct wide wide = {7, -100, 9, 1.5F, {2.5, -2.5}};
    const void *const others[] = {&single, &twice, &at, &wide, NULL};
    struct run done[6];

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        done[i] = run(&methods[i], NULL, i ? &others[i - 1] : numbers);
        assert_int_equal(done[i].r, 0);
        assert_int_equal(done[i].outcome.status, 0);
    }
    assert_int_equal(*(const uint64_t *)done[0].outcome.result, 12);
    assert_true(*(const float *)done[1].outcome.result == 1.5F);
    assert_true(*(const double *)done[2].outcome.result == 2.5);
    assert_true(((const struct point *)done[3].outcome.result)->x == 2.0);
    assert_true(((const struct wide *)done[4].outcome.result)->b == -100);
    assert_true(((const struct wide *)done[4].outcome.result)->at.y == -2.5);
    for (size_t i = 0; i < 6; i++)
        hub_invoke_release(&done[i].plan);
}

static void a_plain_function_gets_c_strings_and_gives_one(void **state)
{
    const struct rapahub_method method =
        plain("pick", RAPAHUB_TYPES(string, string, u32), (void (*)(void))pick);
    const struct rapahub_string text = {"hello, cut here", 5};
    uint32_t from = 1;
    const void *const values[] = {&text, &from};
    struct run done = run(&method, NULL, values);
    const struct rapahub_string *result = done.outcome.result;

    (void)state;
    assert_int_equal(done.r, 0);
    assert_int_equal(result->size, 4);
    assert_memory_equal(result->data, "ello", 4);
    hub_invoke_release(&done.plan);

    from = 101;
    done = run(&method, NULL, values);
    assert_int_equal(((const struct rapahub_string *)done.outcome.result)->size, 0);
    hub_invoke_release(&done.plan);
}

static void each_text_ends_by_itself(void **state)
{
    const struct rapahub_method method =
        plain("compare", RAPAHUB_TYPES(u64, string, string), (void (*)(void))compare);
    const struct rapahub_string one = {"one", 3}, two = {"two", 3};
    const void *const values[] = {&one, &two};
    struct run done = run(&method, NULL, values);

    (void)state;
    assert_int_equal(done.r, 0);
    assert_int_equal(*(const uint64_t *)done.outcome.result, 1);
    hub_invoke_release(&done.plan);
}

static void bytes_are_two_parameters_of_a_plain_function(void **state)
{
    const struct rapahub_method method =
        plain("checksum", RAPAHUB_TYPES(u64, string, bytes), (void (*)(void))checksum);
    const struct rapahub_string text = {"", 0};
    const struct rapahub_bytes data = {"\1\2\377", 3};
    const void *const values[] = {&text, &data};
    struct run done = run(&method, NULL, values);

    (void)state;
    assert_int_equal(done.r, 0);
    assert_int_equal(*(const uint64_t *)done.outcome.result, 258);
    hub_invoke_release(&done.plan);
}

static void a_plan_may_be_run_with_longer_and_shorter_texts(void **state)
{
    const struct rapahub_method method =
        plain("checksum", RAPAHUB_TYPES(u64, string, bytes), (void (*)(void))checksum);
    uint8_t data[102];
    struct hub_invoke *plan;

    (void)state;
    memset(data, 'x', sizeof(data));
    assert_int_equal(hub_invoke_prepare(&method, &plan), 0);
    for (uint8_t size = 0; size < 100; size += 33) {
        struct hub_outcome outcome;
        struct hub_reader reader;

        data[0] = size;
        data[1 + size] = 0;
        hub_reader_init(&reader, data, 2U + size);
        assert_int_equal(
            hub_invoke_call(plan, &(struct hub_invoke_target){NULL, NULL}, &reader, &outcome), 0);
        assert_int_equal(*(const uint64_t *)outcome.result, size);
        data[1 + size] = 'x';
    }
    hub_invoke_release(&plan);
}

static void a_text_with_a_0_inside_is_no_c_string(void **state)
{
    const struct rapahub_method method =
        plain("pick", RAPAHUB_TYPES(string, string, u32), (void (*)(void))pick);
    const struct rapahub_string text = {"a\0b", 3};
    const uint32_t from = 0;
    const void *const values[] = {&text, &from};
    struct run done = run(&method, NULL, values);

    (void)state;
    assert_int_equal(done.r, RAPAHUB_EARGUMENTS);
    assert_non_null(strstr(rapahub_last_error()->text, "argument 1 of 'pick'"));
    hub_invoke_release(&done.plan);
}

static void a_text_without_end_is_not_followed_for_ever(void **state)
{
    const struct rapahub_method method =
        plain("endless", RAPAHUB_TYPES(string, void), (void (*)(void))endless);
    struct run done = run(&method, NULL, NULL);

    (void)state;
    assert_int_equal(done.r, -EMSGSIZE);
    hub_invoke_release(&done.plan);
}

static void a_plain_function_may_have_sixteen_arguments(void **state)
{
    const struct rapahub_type *const types[] = {
        &rapahub_type_i64,  &rapahub_type_i8,  &rapahub_type_u8,
        &rapahub_type_i16,  &rapahub_type_u16, &rapahub_type_i32,
        &rapahub_type_u32,  &rapahub_type_i64, &rapahub_type_u64,
        &rapahub_type_i8,   &rapahub_type_f32, &rapahub_type_f64,
        &rapahub_type_bool, &rapahub_type_i8,  &rapahub_type_point,
        &rapahub_type_i16,  &rapahub_type_i64, NULL};
    const struct rapahub_method method = plain("sixteen", types, (void (*)(void))sixteen);
    const int8_t a = -1, i = -2, m = -3;
    const uint8_t b = 200;
    const int16_t c = -300, o = 0x1000;
    const uint16_t d = 60000;
    const int32_t e = -5;
    const uint32_t f = UINT32_MAX;
    const int64_t g = -7, p = INT64_C(1) << 40;
    const uint64_t h = UINT64_C(1) << 41;
    const float j = 0x2000;
    const double k = 0x100000;
    const bool l = true;
    const struct point n = {0x4000, 0x8000};
    const void *const values[] = {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n, &o, &p};
    struct run done = run(&method, NULL, values);

    (void)state;
    assert_int_equal(done.r, 0);
    assert_int_equal(*(const int64_t *)done.outcome.result,
                     sixteen(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p));
    hub_invoke_release(&done.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_integers_come_back_whole),
        cmocka_unit_test(plain_functions_return_numbers_and_records),
        cmocka_unit_test(a_plain_function_gets_c_strings_and_gives_one),
        cmocka_unit_test(each_text_ends_by_itself),
        cmocka_unit_test(bytes_are_two_parameters_of_a_plain_function),
        cmocka_unit_test(a_plan_may_be_run_with_longer_and_shorter_texts),
        cmocka_unit_test(a_text_with_a_0_inside_is_no_c_string),
        cmocka_unit_test(a_text_without_end_is_not_followed_for_ever),
        cmocka_unit_test(a_plain_function_may_have_sixteen_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

struct named {
    struct rapahub_string name;
    uint32_t number;
};
RAPAHUB_RECORD(named, RAPAHUB_MEMBER(named, name, string), RAPAHUB_MEMBER(named, number, u32));

struct short_of {
    uint32_t a, b;
};
RAPAHUB_RECORD(short_of, RAPAHUB_MEMBER(short_of, a, u32));

static int add(void *self, int64_t a, int64_t b, int64_t *result)
{
    *(int *)self += 1;
    *result = a + b;
    return 0;
}

static int fails(void *self, int32_t code)
{
    (void)self;
    return code;
}

static int mix(void *self, struct wide wide, float f, struct rapahub_string s, struct wide *result)
{
    *(bool *)self = true;
    *result = wide;
    result->b = wide.b + (int64_t)s.size;
    result->d = wide.d + f;
    return 0;
}

static int greet(void *self, struct rapahub_string name, struct rapahub_bytes data,
                 struct named *result)
{
    (void)self;
    result->name = name;
    result->number = (uint32_t)data.size;
    return 0;
}

static int leave(void *self, struct named *result)
{
    (void)self;
    (void)result;
    return 0;
}

static void nothing(void)
{
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

static void again(struct hub_invoke *plan, void *self, const void *const *values,
                  struct hub_outcome *outcome)
{
    const struct hub_signature *signature = hub_invoke_signature(plan);
    uint8_t data[128];
    struct hub_writer writer;
    struct hub_reader reader;

    hub_writer_init(&writer, data, sizeof data);
    hub_payload_put_arguments(&writer, signature->types + 1, values);
    hub_reader_init(&reader, data, writer.size);
    assert_int_equal(
        hub_invoke_call(plan, &(struct hub_invoke_target){self, NULL}, &reader, outcome), 0);
}

static void a_checked_method_gets_self_and_writes_its_result(void **state)
{
    const struct rapahub_method method = RAPAHUB_METHOD(add, add, i64, i64, i64);
    const int64_t a = INT64_MIN, b = 5;
    const void *const values[] = {&a, &b};
    int self = 0;
    struct run done = run(&method, &self, values);

    (void)state;
    assert_int_equal(done.r, 0);
    assert_int_equal(done.outcome.status, 0);
    assert_true(*(const int64_t *)done.outcome.result == INT64_MIN + 5);
    assert_int_equal(self, 1);
    assert_string_equal(hub_invoke_signature(done.plan)->text, "add(i64, i64) -> i64");
    hub_invoke_release(&done.plan);
    assert_null(done.plan);
}

static void a_negative_status_keeps_its_sign(void **state)
{
    const struct rapahub_method method = RAPAHUB_METHOD(fails, fails, void, i32);
    const int32_t code = -4105;
    const void *const values[] = {&code};
    struct run done = run(&method, NULL, values);

    (void)state;
    assert_int_equal(done.r, 0);
    assert_int_equal(done.outcome.status, -4105);
    hub_invoke_release(&done.plan);
}

static void scalars_records_and_views_mix(void **state)
{
    const struct rapahub_method method = RAPAHUB_METHOD(mix, mix, wide, wide, f32, string);
    const struct wide wide = {7, -100, 9, 1.5F, {2.5, -2.5}};
    const float f = 0.25F;
    const struct rapahub_string text = {"four", 4};
    const void *const values[] = {&wide, &f, &text};
    bool called = false;
    struct run done = run(&method, &called, values);
    const struct wide *result = done.outcome.result;

    (void)state;
    assert_int_equal(done.r, 0);
    assert_true(called);
    assert_int_equal(result->a, 7);
    assert_int_equal(result->b, -96);
    assert_int_equal(result->c, 9);
    assert_true(result->d == 1.75F && result->at.x == 2.5 && result->at.y == -2.5);
    hub_invoke_release(&done.plan);
}

static double length(struct point from, struct wide to)
{
    return to.at.x - from.x + to.at.y - from.y;
}

/* libffi may change the list of pointers it is given: the prepared list must not be that one. */
static void a_method_of_records_gets_its_own_each_time(void **state)
{
    const struct rapahub_method checked = RAPAHUB_METHOD(mix, mix, wide, wide, f32, string);
    const struct rapahub_method plain_one =
        plain("length", RAPAHUB_TYPES(f64, point, wide), (void (*)(void))length);
    const struct rapahub_string text = {"four", 4};
    struct hub_invoke *mixes, *lengths;
    bool called;

    (void)state;
    assert_int_equal(hub_invoke_prepare(&checked, &mixes), 0);
    assert_int_equal(hub_invoke_prepare(&plain_one, &lengths), 0);
    for (int i = 1; i < 5; i++) {
        const struct wide wide = {(uint8_t)i, 10 * i, (uint16_t)(100 * i), 1, {1000 * i, 2000 * i}};
        const struct point from = {i, 2 * i};
        const float f = (float)i;
        struct hub_outcome outcome;
        const struct wide *result;

        again(mixes, &called, (const void *const[]){&wide, &f, &text}, &outcome);
        result = outcome.result;
        assert_int_equal(result->a, i);
        assert_int_equal(result->b, 10 * i + 4);
        assert_int_equal(result->c, 100 * i);
        assert_true(result->d == 1 + f && result->at.x == 1000 * i && result->at.y == 2000 * i);
        again(lengths, NULL, (const void *const[]){&from, &wide}, &outcome);
        assert_true(*(const double *)outcome.result == 2997 * i);
    }
    hub_invoke_release(&mixes);
    hub_invoke_release(&lengths);
}

static void views_in_a_result_are_what_the_method_gave(void **state)
{
    const struct rapahub_method method = RAPAHUB_METHOD(greet, greet, named, string, bytes);
    const uint8_t data[] = {2, 'h', 'i', 3, 1, 2, 3};
    struct hub_invoke *plan;
    struct hub_outcome outcome;
    struct hub_reader reader;
    const struct named *result;

    (void)state;
    assert_int_equal(hub_invoke_prepare(&method, &plan), 0);
    hub_reader_init(&reader, data, sizeof(data));
    assert_int_equal(
        hub_invoke_call(plan, &(struct hub_invoke_target){NULL, NULL}, &reader, &outcome), 0);
    result = outcome.result;
    assert_ptr_equal(result->name.data, data + 1);
    assert_int_equal(result->number, 3);
    hub_invoke_release(&plan);
}

static void a_result_begins_as_zeros_each_time(void **state)
{
    const struct rapahub_method writes = RAPAHUB_METHOD(leave, leave, named, void);
    struct run done = run(&writes, NULL, NULL);
    struct hub_reader reader;

    (void)state;
    assert_int_equal(done.r, 0);
    memset((char *)(uintptr_t)done.outcome.result, 0xff, sizeof(struct named));
    hub_reader_init(&reader, "", 0);
    assert_int_equal(
        hub_invoke_call(done.plan, &(struct hub_invoke_target){NULL, NULL}, &reader, &done.outcome),
        0);
    assert_null(((const struct named *)done.outcome.result)->name.data);
    assert_int_equal(((const struct named *)done.outcome.result)->number, 0);
    hub_invoke_release(&done.plan);
}

/* r[verify call.error.invalid-payload] */
static void arguments_that_do_not_fit_call_nothing(void **state)
{
    static const struct {
        uint8_t data[4];
        size_t size;
    } cases[] = {{{2}, 1}, {{2, 4, 0}, 3}, {{0}, 0}, {{0x80, 0x80}, 2}};
    const struct rapahub_method method = RAPAHUB_METHOD(add, add, i64, i64, i64);
    struct hub_invoke *plan;
    int self = 0;

    (void)state;
    assert_int_equal(hub_invoke_prepare(&method, &plan), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hub_outcome outcome;
        struct hub_reader reader;

        hub_reader_init(&reader, cases[i].data, cases[i].size);
        assert_int_equal(
            hub_invoke_call(plan, &(struct hub_invoke_target){&self, NULL}, &reader, &outcome),
            RAPAHUB_EARGUMENTS);
        assert_non_null(strstr(rapahub_last_error()->text, "arguments of 'add': "));
    }
    assert_int_equal(self, 0);
    hub_invoke_release(&plan);
}

/* A method that comes back into itself, and looks at its own result afterwards. */
struct nest {
    struct hub_invoke *plan;
    bool kept;
};

static int nested(void *self, uint32_t depth, struct point *result)
{
    struct nest *nest = self;
    const uint8_t data[] = {(uint8_t)(depth - 1)};
    struct hub_outcome outcome;
    struct hub_reader reader;

    result->x = depth;
    if (!depth)
        return 0;
    hub_reader_init(&reader, data, sizeof(data));
    assert_int_equal(
        hub_invoke_call(nest->plan, &(struct hub_invoke_target){self, NULL}, &reader, &outcome), 0);
    nest->kept =
        nest->kept && result->x == depth && ((const struct point *)outcome.result)->x == depth - 1;
    return 0;
}

static void a_run_inside_of_a_run_leaves_the_outer_result_alone(void **state)
{
    const struct rapahub_method method = RAPAHUB_METHOD(nested, nested, point, u32);
    const uint8_t data[] = {3};
    struct nest nest = {NULL, true};
    struct hub_outcome outcome;
    struct hub_reader reader;

    (void)state;
    assert_int_equal(hub_invoke_prepare(&method, &nest.plan), 0);
    hub_reader_init(&reader, data, sizeof(data));
    assert_int_equal(
        hub_invoke_call(nest.plan, &(struct hub_invoke_target){&nest, NULL}, &reader, &outcome), 0);
    assert_true(nest.kept);
    assert_true(((const struct point *)outcome.result)->x == 3);
    hub_invoke_release(&nest.plan);
}

static void what_cannot_be_called_is_refused_at_load(void **state)
{
    const struct {
        struct rapahub_method method;
        int code;
        const char *expected;
    } cases[] = {
        {{"f", RAPAHUB_TYPES(void, short_of), nothing, RAPAHUB_METHOD_CHECKED},
         RAPAHUB_EABI,
         "record 'short_of' has 8 bytes"},
        {{"f", RAPAHUB_TYPES(short_of, void), nothing, RAPAHUB_METHOD_CHECKED},
         RAPAHUB_EABI,
         "record 'short_of'"},
        {plain("f", RAPAHUB_TYPES(bytes, void), nothing), -ENOTSUP, "return bytes"},
        {plain("f", RAPAHUB_TYPES(void, named), nothing), -ENOTSUP, "records cannot hold"},
        {plain("f", RAPAHUB_TYPES(named, void), nothing), -ENOTSUP, "records cannot hold"},
        {plain("f", RAPAHUB_TYPES(void, void), NULL), -EINVAL, "no function"},
        {plain("f-g", RAPAHUB_TYPES(void, void), nothing), -EINVAL, "'f-g' is no name"},
        {{"f", RAPAHUB_TYPES(void, void), nothing, (enum rapahub_method_kind)7},
         -EINVAL,
         "no function"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hub_invoke *plan = NULL;

        assert_int_equal(hub_invoke_prepare(&cases[i].method, &plan), cases[i].code);
        assert_null(plan);
        if (!strstr(rapahub_last_error()->text, cases[i].expected))
            fail_msg("%zu: %s", i, rapahub_last_error()->text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checked_method_gets_self_and_writes_its_result),
        cmocka_unit_test(a_negative_status_keeps_its_sign),
        cmocka_unit_test(scalars_records_and_views_mix),
        cmocka_unit_test(a_method_of_records_gets_its_own_each_time),
        cmocka_unit_test(views_in_a_result_are_what_the_method_gave),
        cmocka_unit_test(a_result_begins_as_zeros_each_time),
        cmocka_unit_test(arguments_that_do_not_fit_call_nothing),
        cmocka_unit_test(a_run_inside_of_a_run_leaves_the_outer_result_alone),
        cmocka_unit_test(what_cannot_be_called_is_refused_at_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

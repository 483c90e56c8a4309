/* SPDX-License-Identifier: Apache-2.0 */
/* Calls into a living guest: the results, and the calls that are refused before they are sent. */
#include <stdlib.h>

#include "tests/integration/hosting.h"

RAPAHUB_STUB(divide, i64, i64, i64);

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));
RAPAHUB_STUB(mirror, point, point);

static void a_call_is_answered(void **state)
{
    struct hosting on;
    int64_t sum = 0;

    (void)state;
    open_calc(&on);
    for (int64_t i = 0; i < 1000; i++) {
        assert_done(add(&on, i, 2, &sum));
        assert_int_equal(sum, i + 2);
    }
    close_host(&on);
}

/* However well they would fit. r[verify hub.call.memory] */
static void a_bare_name_without_types_is_refused(void **state)
{
    const int64_t a = 40, b = 2;
    const void *const arguments[] = {&a, &b, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64, i64),
                                      .arguments = arguments};
    struct hosting on;
    int64_t sum = 0;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "add", arguments, &sum), RAPAHUB_EINVAL,
                   "the types of add are not said: give `types`, or its whole signature: "
                   "add(i64, i64) -> i64");
    assert_string_equal(rapahub_last_error()->rule, "hub.call.memory");
    assert_refused(ask(&on, "pid", NULL, &sum), RAPAHUB_EINVAL, "the types of pid are not said");
    assert_int_equal(sum, 0);
    assert_done(rapahub_host_call(on.host, &call, &sum));
    assert_int_equal(sum, 42);
    close_host(&on);
}

/* r[verify hub.call.memory] */
static void too_few_arguments_are_refused(void **state)
{
    const int64_t a = 1;
    struct hosting on;
    int64_t sum;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "add(i64, i64) -> i64", (const void *const[]){&a, NULL}, &sum),
                   RAPAHUB_EARGUMENTS, "add takes 2 arguments, 1 given");
    assert_refused(ask(&on, "add(i64, i64) -> i64", NULL, &sum), RAPAHUB_EARGUMENTS, "0 given");
    close_host(&on);
}

static void a_stub_calls_and_keeps_the_id(void **state)
{
    struct hosting on;
    int64_t quotient = 0;

    (void)state;
    open_calc(&on);
    for (int i = 0; i < 3; i++) {
        assert_done(divide(on.host, here, 84, 2, &quotient));
        assert_int_equal(quotient, 42);
    }
    close_host(&on);
}

static void a_record_travels(void **state)
{
    struct point out = {0, 0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_done(mirror(on.host, here, (struct point){1.5, -2}, &out));
    assert_true(out.x == -2 && out.y == 1.5);
    close_host(&on);
}

static void bytes_of_every_size_come_back(void **state)
{
    static const size_t sizes[] = {0, 1, 20, 31, 32, 33, 1000, 60000, 65400};
    struct hosting on;

    (void)state;
    open_calc(&on);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *data = malloc(sizes[i] + 1);
        struct rapahub_bytes in = {data, sizes[i]}, out = {NULL, 1};

        memset(data, (int)i + 1, sizes[i] + 1);
        assert_done(ask(&on, "echo(bytes) -> bytes", (const void *const[]){&in, NULL}, &out));
        assert_int_equal(out.size, sizes[i]);
        assert_true(out.size == 0 || memcmp(out.data, data, out.size) == 0);
        free(data);
    }
    close_host(&on);
}

static void an_error_of_the_method_is_its_own(void **state)
{
    struct hosting on;
    int64_t quotient = 0;

    (void)state;
    open_calc(&on);
    assert_refused(divide(on.host, here, 1, 0, &quotient), RAPAHUB_EAPPLICATION,
                   "division by zero");
    assert_int_equal(rapahub_last_error()->application, RAPAHUB_EINVAL);
    close_host(&on);
}

static void an_unknown_method_names_near_ones(void **state)
{
    const int64_t a = 1, b = 2;
    const void *const arguments[] = {&a, &b, NULL};
    struct hosting on;
    int64_t sum;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "ad", arguments, &sum), RAPAHUB_ENOMETHOD,
                   "calc has no method 'ad'; near: add(i64, i64) -> i64");
    assert_refused(ask(&on, "frobnicate", arguments, &sum), RAPAHUB_ENOMETHOD,
                   "calc has no method 'frobnicate'");
    close_host(&on);
}

static void wrong_types_are_refused_before_anything_is_sent(void **state)
{
    const int64_t a = 1;
    const int32_t small = 1;
    struct hosting on;
    int64_t sum;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "add(i64) -> i64", (const void *const[]){&a, NULL}, &sum),
                   RAPAHUB_EARGUMENTS, "add takes (i64, i64), (i64) given");
    assert_refused(ask(&on, "add(i32, i64) -> i64", (const void *const[]){&small, &a, NULL}, &sum),
                   RAPAHUB_EARGUMENTS, "add takes (i64, i64), (i32, i64) given");
    assert_refused(ask(&on, "add(i64, i64) -> i32", (const void *const[]){&a, &a, NULL}, &sum),
                   RAPAHUB_EARGUMENTS, "the method is add(i64, i64) -> i64");
    assert_refused(ask(&on, "a b", NULL, &sum), RAPAHUB_EINVAL, "no name of a method");
    close_host(&on);
}

static void an_argument_too_large_is_refused(void **state)
{
    const size_t size = (size_t)2 << 20;
    char *data = calloc(1, size);
    struct rapahub_bytes in = {data, size}, out;
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "echo(bytes) -> bytes", (const void *const[]){&in, NULL}, &out),
                   RAPAHUB_EMSGSIZE, "argument of 2 MiB; a message of this hub carries 1 MiB");
    free(data);
    close_host(&on);
}

static void a_string_that_is_no_utf8_is_refused(void **state)
{
    const struct rapahub_string text = {"\xff", 1};
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "print(string)", (const void *const[]){&text, NULL}, NULL),
                   RAPAHUB_EARGUMENTS, "UTF-8");
    close_host(&on);
}

static void an_unknown_container_is_named(void **state)
{
    const struct rapahub_call call = {
        .target = {.pool = {7, 3}, .container = 2}, .method = "pid() -> i32", .timeout_ns = 1};
    struct hosting on;
    int32_t pid;

    (void)state;
    open_calc(&on);
    assert_refused(rapahub_host_call(on.host, &call, &pid), RAPAHUB_ENOENT, "7.3[2]");
    close_host(&on);
}

static void a_call_ends_at_its_deadline(void **state)
{
    const uint32_t ms = 20000;
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "nap(u32)", .arguments = arguments, .timeout_ns = 50000000};
    struct hosting on;
    uint64_t begin;
    int64_t sum = 0;

    (void)state;
    open_calc(&on);
    begin = now_ms();
    assert_refused(rapahub_host_call(on.host, &call, NULL), RAPAHUB_ETIMEDOUT, "nap");
    assert_in_range(now_ms() - begin, 49, 5000);
    assert_done(add(&on, 1, 1, &sum)); /* after the nap */
    close_host(&on);
}

static void count(void *user, const char *signature)
{
    unsigned *found = user;

    *found += strcmp(signature, "add(i64, i64) -> i64") == 0 ? 100 : 1;
}

static void the_methods_of_a_container_are_told(void **state)
{
    unsigned found = 0;
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_done(rapahub_host_methods(on.host, here, count, &found));
    assert_int_equal(found, 119); /* add, and 19 others */
    close_host(&on);
}

static void a_plain_library_is_called(void **state)
{
    const char *const plain[] = {"gcd(u64, u64) -> u64", NULL};
    const struct rapahub_guest_options options = {.chimod = MODULE("plain"), .plain = plain};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const uint64_t a = 12, b = 18;
    struct hosting on;
    uint64_t divisor = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &options, &on.guest));
    assert_done(rapahub_host_add_container(on.host, on.guest, &container));
    assert_done(ask(&on, "gcd(u64, u64) -> u64", (const void *const[]){&a, &b, NULL}, &divisor));
    assert_int_equal(divisor, 6);
    close_host(&on);
}

static void trusted_guests_share_a_segment_and_are_apart(void **state)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED};
    struct rapahub_guest_id first, second;
    struct hosting on;
    int32_t pids[2];

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &options, &first));
    assert_done(rapahub_host_spawn(on.host, &options, &second));
    assert_int_equal(first.group, second.group);
    assert_int_equal(first.peer, 1);
    assert_int_equal(second.peer, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct rapahub_container_options container = {.id = {.pool = {1, 0}, .container = i},
                                                            .pool_name = "test"};
        const struct rapahub_call call = {.target = container.id, .method = "pid() -> i32"};

        assert_done(rapahub_host_add_container(on.host, i ? second : first, &container));
        assert_done(rapahub_host_call(on.host, &call, &pids[i]));
    }
    assert_int_not_equal(pids[0], pids[1]);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_answered),
        cmocka_unit_test(a_bare_name_without_types_is_refused),
        cmocka_unit_test(too_few_arguments_are_refused),
        cmocka_unit_test(a_stub_calls_and_keeps_the_id),
        cmocka_unit_test(a_record_travels),
        cmocka_unit_test(bytes_of_every_size_come_back),
        cmocka_unit_test(an_error_of_the_method_is_its_own),
        cmocka_unit_test(an_unknown_method_names_near_ones),
        cmocka_unit_test(wrong_types_are_refused_before_anything_is_sent),
        cmocka_unit_test(an_argument_too_large_is_refused),
        cmocka_unit_test(a_string_that_is_no_utf8_is_refused),
        cmocka_unit_test(an_unknown_container_is_named),
        cmocka_unit_test(a_call_ends_at_its_deadline),
        cmocka_unit_test(the_methods_of_a_container_are_told),
        cmocka_unit_test(a_plain_library_is_called),
        cmocka_unit_test(trusted_guests_share_a_segment_and_are_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

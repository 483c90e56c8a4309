/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in both directions: guests call what the host offers and each other, inside of calls. */
#include "tests/integration/hosting.h"

#define CALLER MODULE("caller")

static const struct rapahub_container_id offer = {.pool = {9, 0}};

/* The offer of the host. */
struct offered {
    struct hosting *on;
    int calls;
};

static int offer_twice(void *self, int64_t number, int64_t *result)
{
    struct offered *offered = self;

    offered->calls++;
    if (number < 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no negative numbers here");
    *result = 2 * number;
    return 0;
}

static int offer_descend(void *self, int64_t number, int64_t *result)
{
    const int64_t next = number - 1;
    const void *const arguments[] = {&next, NULL};
    struct offered *offered = self;
    int r = 0;

    offered->calls++;
    *result = 0;
    if (number > 0)
        r = ask(offered->on, "descend(i64) -> i64", arguments, result);
    *result += 1;
    return r;
}

static int offer_stop(void *self, int64_t number, int64_t *result)
{
    struct offered *offered = self;

    (void)number;
    *result = rapahub_host_stop(offered->on->host, offered->on->guest);
    return 0;
}

/* Takes turns meanwhile. */
static int offer_linger(void *self, int64_t ms, int64_t *result)
{
    const uint32_t nap = 50;
    const struct rapahub_call call = {.target = {.pool = {3, 0}},
                                      .method = "nap(u32)",
                                      .arguments = (const void *const[]){&nap, NULL}};
    struct offered *offered = self;
    int r = 0;

    for (*result = 0; *result < ms && r == 0; *result += nap)
        r = rapahub_host_call(offered->on->host, &call, NULL);
    return r;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(linger, offer_linger, i64, i64),
    RAPAHUB_METHOD(twice, offer_twice, i64, i64),
    RAPAHUB_METHOD(descend, offer_descend, i64, i64),
    RAPAHUB_METHOD(stop, offer_stop, i64, i64),
    RAPAHUB_METHOD_END,
};

static void open_caller_waiting(struct hosting *on, struct offered *offered,
                                enum rapahub_waiting waiting)
{
    const struct rapahub_container_options options = {.id = offer, .pool_name = "offer"};

    *offered = (struct offered){.on = on};
    open_host(on, (struct rapahub_host_options){.waiting = waiting});
    assert_done(start(on, CALLER, here, NULL));
    assert_done(rapahub_host_offer(on->host, &options, methods, offered));
}

static void open_caller(struct hosting *on, struct offered *offered)
{
    open_caller_waiting(on, offered, RAPAHUB_WAIT_ADAPT);
}

static int through(struct hosting *on, const char *method, uint32_t pool, int64_t number,
                   int64_t *result)
{
    const struct rapahub_call call = {.target = here,
                                      .method = method,
                                      .types = RAPAHUB_TYPES(i64, u32, i64),
                                      .arguments = (const void *const[]){&pool, &number, NULL}};

    return rapahub_host_call(on->host, &call, result);
}

static void a_guest_calls_what_the_host_offers(void **state)
{
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_done(through(&on, "ask", 9, 21, &result));
    assert_int_equal(result, 42);
    assert_int_equal(offered.calls, 1);
    close_host(&on);
}

/* The second call takes the id from the first one; and so does one that fails. */
static void a_guest_knows_from_the_last_time_what_it_calls(void **state)
{
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    for (int64_t i = 1; i <= 3; i++) {
        assert_done(through(&on, "known", 9, i, &result));
        assert_int_equal(result, 2 * i);
    }
    assert_int_equal(offered.calls, 3);
    assert_refused(through(&on, "known", 9, -1, &result), RAPAHUB_EAPPLICATION, "no negative");
    assert_refused(through(&on, "known", 8, 1, &result), RAPAHUB_EAPPLICATION, "8.0[0]");
    close_host(&on);
}

static void an_error_of_an_offer_reaches_the_caller_of_the_guest(void **state)
{
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_refused(through(&on, "ask", 9, -1, &result), RAPAHUB_EAPPLICATION, "no negative");
    assert_refused(through(&on, "ask", 8, 1, &result), RAPAHUB_EAPPLICATION, "8.0[0]");
    /* The guest got the host's own code, not an error of a method. */
    assert_int_equal(rapahub_last_error()->application, RAPAHUB_ENOENT);
    close_host(&on);
}

/* A chimod's memory is read by what the chimod said. r[verify hub.call.memory] */
static void a_guest_that_says_no_types_is_refused(void **state)
{
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_refused(through(&on, "by_name", 9, 4, &result), RAPAHUB_EAPPLICATION,
                   "the types of twice are not said");
    assert_refused(through(&on, "too_few", 9, 4, &result), RAPAHUB_EAPPLICATION,
                   "twice takes 1 argument, 0 given");
    assert_int_equal(offered.calls, 0);
    close_host(&on);
}

static void host_and_guest_call_each_other_to_some_depth(void **state)
{
    const int64_t depth = 24;
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_done(ask(&on, "descend(i64) -> i64", (const void *const[]){&depth, NULL}, &result));
    assert_int_equal(result, depth + 1);
    assert_int_equal(offered.calls, depth / 2);
    close_host(&on);
}

/* Requests served inside of the wait and in a turn alternate: no one can say which it was. */
static void calls_are_nested_again_and_again_however_both_wait(void **state)
{
    static const enum rapahub_waiting manners[] = {RAPAHUB_WAIT_POLL, RAPAHUB_WAIT_ADAPT,
                                                   RAPAHUB_WAIT_SLEEP, RAPAHUB_WAIT_BELL};
    const int64_t depth = 12;

    (void)state;
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
        struct offered offered;
        struct hosting on;
        int64_t result = 0;

        open_caller_waiting(&on, &offered, manners[i]);
        for (int64_t n = 1; n <= 500; n++) {
            assert_done(through(&on, "known", 9, n, &result));
            assert_int_equal(result, 2 * n);
        }
        assert_int_equal(offered.calls, 500);
        assert_done(ask(&on, "descend(i64) -> i64", (const void *const[]){&depth, NULL}, &result));
        assert_int_equal(result, depth + 1);
        assert_refused(through(&on, "known", 9, -1, &result), RAPAHUB_EAPPLICATION, "no negative");
        assert_refused(through(&on, "known", 8, 1, &result), RAPAHUB_EAPPLICATION, "8.0[0]");
        assert_done(through(&on, "ask", 9, 21, &result));
        assert_int_equal(result, 42);
        close_host(&on);
    }
}

static void a_depth_without_end_is_an_error_and_no_crash(void **state)
{
    const int64_t depth = 1000;
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_true(ask(&on, "descend(i64) -> i64", (const void *const[]){&depth, NULL}, &result) < 0);
    assert_done(through(&on, "ask", 9, 21, &result));
    close_host(&on);
}

static void a_guest_calls_another_guest(void **state)
{
    const struct rapahub_container_id there = {.pool = {2, 0}};
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_done(start(&on, CALLER, there, NULL));
    for (int64_t i = 0; i < 100; i++) {
        assert_done(through(&on, "ask", 2, i, &result));
        assert_int_equal(result, 2 * i);
    }
    close_host(&on);
}

/* Through the host it comes back to the guest that asks, which waits: its chain lets it in. */
static void a_guest_calls_itself(void **state)
{
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_done(through(&on, "ask", 1, 21, &result));
    assert_int_equal(result, 42);
    close_host(&on);
}

static void the_host_calls_its_own_offer(void **state)
{
    const int64_t number = 21;
    const void *const arguments[] = {&number, NULL};
    struct rapahub_call call = {
        .target = offer, .method = "twice(i64) -> i64", .arguments = arguments};
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_done(rapahub_host_call(on.host, &call, &result));
    assert_int_equal(result, 42);
    call.method = "thrice(i64) -> i64";
    assert_refused(rapahub_host_call(on.host, &call, &result), RAPAHUB_ENOMETHOD,
                   "host has no method 'thrice'");
    close_host(&on);
}

static void an_offered_method_may_call_and_no_more(void **state)
{
    const int64_t number = 1;
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call call = {
        .target = offer, .method = "stop(i64) -> i64", .arguments = arguments};
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_done(rapahub_host_call(on.host, &call, &result));
    assert_int_equal(result, RAPAHUB_ESTATE);
    close_host(&on);
}

static void a_guest_that_dies_waiting_for_another_harms_nobody(void **state)
{
    const struct rapahub_container_id there = {.pool = {2, 0}};
    const struct rapahub_guest_options calc = {.chimod = CALC};
    const struct rapahub_container_options options = {.id = there, .pool_name = "calc"};
    struct rapahub_guest_id guest;
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_caller(&on, &offered);
    assert_done(rapahub_host_spawn(on.host, &calc, &guest));
    assert_done(rapahub_host_add_container(on.host, guest, &options));
    assert_refused(through(&on, "ask", 2, 1, &result), RAPAHUB_EAPPLICATION, "");
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.down, 1));
    assert_true(until(&on, &on.told.ready, 3));
    assert_done(through(&on, "ask", 9, 3, &result));
    assert_int_equal(result, 6);
    close_host(&on);
}

/* However long it takes what it asked for. r[verify supervise.stall] */
static void a_guest_that_waits_for_an_offer_is_not_stuck(void **state)
{
    static const struct rapahub_supervision stall = {.stall_ns = 200000000,
                                                     .abort_ns = RAPAHUB_NONE};
    const struct rapahub_container_options options = {.id = offer, .pool_name = "offer"};
    struct offered offered;
    struct hosting on;
    int64_t result = 0;

    (void)state;
    offered = (struct offered){.on = &on};
    open_host(&on, (struct rapahub_host_options){.waiting = RAPAHUB_WAIT_POLL});
    assert_done(start(&on, CALLER, here, &stall));
    assert_done(start(&on, CALC, (struct rapahub_container_id){.pool = {3, 0}}, NULL));
    assert_done(rapahub_host_offer(on.host, &options, methods, &offered));
    for (int i = 0; i < 3; i++) {
        assert_done(through(&on, "linger", 9, 700, &result));
        assert_int_equal(on.told.down, 0);
    }
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_calls_what_the_host_offers),
        cmocka_unit_test(a_guest_knows_from_the_last_time_what_it_calls),
        cmocka_unit_test(an_error_of_an_offer_reaches_the_caller_of_the_guest),
        cmocka_unit_test(a_guest_that_says_no_types_is_refused),
        cmocka_unit_test(host_and_guest_call_each_other_to_some_depth),
        cmocka_unit_test(calls_are_nested_again_and_again_however_both_wait),
        cmocka_unit_test(a_depth_without_end_is_an_error_and_no_crash),
        cmocka_unit_test(a_guest_calls_another_guest),
        cmocka_unit_test(a_guest_calls_itself),
        cmocka_unit_test(the_host_calls_its_own_offer),
        cmocka_unit_test(an_offered_method_may_call_and_no_more),
        cmocka_unit_test(a_guest_that_dies_waiting_for_another_harms_nobody),
        cmocka_unit_test(a_guest_that_waits_for_an_offer_is_not_stuck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

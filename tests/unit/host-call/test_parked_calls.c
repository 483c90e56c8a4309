/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that wait for a turn: their order, and how those are found whose guest has no space. */
#include <stdlib.h>

#include "host/call/asyncs.h"
#include "host/call/parked_calls.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MANY 65536

static struct host_async call_to(uint32_t container, bool foreign, bool full)
{
    return (struct host_async){
        .target = {{7, 0}, container}, .deadline_ns = HUB_NEVER, .foreign = foreign, .full = full};
}

static void calls_come_back_in_their_order(void **state)
{
    struct host_async a = call_to(1, false, true), b = call_to(1, false, false),
                      c = call_to(2, true, true);
    struct host_parked_calls calls;
    struct hub_list round;

    (void)state;
    host_parked_calls_init(&calls);
    assert_null(host_parked_calls_pop(&calls));
    host_parked_calls_append(&calls, &a);
    host_parked_calls_append(&calls, &b);
    host_parked_calls_append(&calls, &c);
    assert_ptr_equal(host_parked_calls_pop(&calls), &a);
    host_parked_calls_append(&calls, &a);
    hub_list_init(&round);
    host_parked_calls_take_all(&calls, &round);
    assert_null(host_parked_calls_pop(&calls));
    assert_ptr_equal(hub_list_pop(&round), &b.parked);
    assert_ptr_equal(hub_list_pop(&round), &c.parked);
    assert_ptr_equal(hub_list_pop(&round), &a.parked);
    assert_null(hub_list_pop(&round));
}

/* r[verify sec.call.share] */
static void a_call_queues_after_those_of_its_side_to_its_container(void **state)
{
    struct host_async full = call_to(1, false, true), free = call_to(2, false, false);
    const struct host_async same = call_to(1, false, false), other_side = call_to(1, true, false),
                            elsewhere = call_to(2, false, false);
    struct host_parked_calls calls;

    (void)state;
    host_parked_calls_init(&calls);
    host_parked_calls_append(&calls, &full);
    host_parked_calls_append(&calls, &free);
    assert_true(host_parked_calls_queue(&calls, &same));
    assert_false(host_parked_calls_queue(&calls, &other_side));
    assert_false(host_parked_calls_queue(&calls, &elsewhere));
    assert_ptr_equal(host_parked_calls_pop(&calls), &full);
    assert_false(host_parked_calls_queue(&calls, &same));
}

static void the_earliest_deadline_is_told_and_whether_one_waits_for_space(void **state)
{
    struct host_async late = call_to(1, false, false), early = call_to(1, false, true);
    struct host_parked_calls calls;
    bool full = true;

    (void)state;
    late.deadline_ns = 9;
    early.deadline_ns = 5;
    host_parked_calls_init(&calls);
    assert_true(host_parked_calls_deadline(&calls, &full) == HUB_NEVER);
    assert_false(full);
    host_parked_calls_append(&calls, &late);
    assert_true(host_parked_calls_deadline(&calls, &full) == 9);
    assert_false(full);
    host_parked_calls_append(&calls, &early);
    assert_true(host_parked_calls_deadline(&calls, &full) == 5);
    assert_true(full);
}

static uint64_t time_of_looks(const struct host_parked_calls *calls)
{
    const struct host_async mine = call_to(1, false, false);
    uint64_t begun = hub_clock_now();

    for (unsigned i = 0; i < 2000; i++)
        assert_false(host_parked_calls_queue(calls, &mine));
    return hub_clock_now() - begun + 1;
}

/* A look costs the same whatever guests have waiting. r[verify sec.call.share] */
static void requests_that_wait_do_not_make_a_look_dearer(void **state)
{
    struct host_async *many = calloc(MANY, sizeof *many);
    struct host_parked_calls calls;
    uint64_t alone, beside;

    (void)state;
    assert_non_null(many);
    host_parked_calls_init(&calls);
    alone = time_of_looks(&calls);
    for (uint32_t i = 0; i < MANY; i++) {
        many[i] = call_to(1, true, true);
        host_parked_calls_append(&calls, &many[i]);
    }
    beside = time_of_looks(&calls);
    print_message("a look beside %d that wait / alone | %.1f\n", MANY,
                  (double)beside / (double)alone);
    assert_true(beside < 100 * alone); /* a walk over all takes some 10,000 times as long */
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_come_back_in_their_order),
        cmocka_unit_test(a_call_queues_after_those_of_its_side_to_its_container),
        cmocka_unit_test(the_earliest_deadline_is_told_and_whether_one_waits_for_space),
        cmocka_unit_test(requests_that_wait_do_not_make_a_look_dearer)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

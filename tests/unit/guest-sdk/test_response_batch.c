/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/response_batch.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define FAST  UINT64_C(0x1234567800000001)
#define OTHER UINT64_C(0x1234567800000002)
#define TRIES 10000 /* another program may take the CPU at any time */

/* Runs a request, and says whether its answer is held back. */
static bool run(struct guest_response_batch *hold, uint64_t method_id, uint64_t ns, bool waits)
{
    uint64_t end;

    (void)guest_response_batch_begin(hold, method_id);
    end = hub_clock_after(ns);
    while (ns > 0 && hub_clock_left(end) > 0)
        ;
    return guest_response_batch_end(hold, method_id, waits);
}

/* Runs it until it is trusted, and nothing is held: how often. */
static unsigned earn(struct guest_response_batch *hold, uint64_t method_id)
{
    unsigned count = 1;

    while (count < TRIES && !run(hold, method_id, 0, true))
        count++;
    assert_false(run(hold, method_id, 0, false));
    return count;
}

static void trust_is_earned(void **state)
{
    struct guest_response_batch hold = {0};

    (void)state;
    assert_in_range(earn(&hold, FAST), 17, TRIES - 1);
    assert_false(run(&hold, OTHER, 0, true));
}

/* r[verify hub.call.batch] */
static void sixteen_are_published_together_and_no_more(void **state)
{
    struct guest_response_batch hold = {0};
    unsigned most = 0;

    (void)state;
    for (int i = 0; i < TRIES && most < 15; i++) {
        unsigned held = 0;

        while (held < 100 && run(&hold, FAST, 0, true))
            held++;
        most = held > most ? held : most;
    }
    assert_int_equal(most, 15);
}

static void nothing_is_held_where_nothing_waits(void **state)
{
    struct guest_response_batch hold = {0};

    (void)state;
    (void)earn(&hold, FAST);
    for (int i = 0; i < 100; i++)
        assert_false(run(&hold, FAST, 0, false));
}

/* r[verify hub.call.batch] */
static void what_is_held_is_shown_before_a_method_nobody_knows(void **state)
{
    struct guest_response_batch hold = {0};

    (void)state;
    (void)earn(&hold, FAST);
    assert_false(guest_response_batch_begin(&hold, OTHER)); /* nothing is held */
    assert_false(guest_response_batch_end(&hold, OTHER, true));
    assert_true(run(&hold, FAST, 0, true));
    assert_true(guest_response_batch_begin(&hold, OTHER));
    assert_false(guest_response_batch_end(&hold, OTHER, true));
}

/* r[verify hub.call.batch] */
static void one_that_was_long_is_trusted_no_more(void **state)
{
    struct guest_response_batch hold = {0};

    (void)state;
    (void)earn(&hold, FAST);
    assert_true(run(&hold, FAST, 0, true));
    assert_true(run(&hold, FAST, 50 * HUB_MICROSECOND, true));
    assert_false(run(&hold, FAST, 0, false)); /* it is seen at the next look */
    for (int i = 0; i < 16; i++)
        assert_false(run(&hold, FAST, 0, true));
    for (int i = 0; i < 100; i++)
        assert_false(run(&hold, OTHER, 15 * HUB_MICROSECOND, true));
}

/* r[verify hub.call.batch] */
static void none_is_held_for_long(void **state)
{
    struct guest_response_batch hold = {0};
    unsigned held = 0;

    (void)state;
    (void)earn(&hold, FAST);
    while (held < 100 && run(&hold, FAST, 2 * HUB_MICROSECOND, true))
        held++;
    assert_in_range(held, 0, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust_is_earned),
        cmocka_unit_test(sixteen_are_published_together_and_no_more),
        cmocka_unit_test(nothing_is_held_where_nothing_waits),
        cmocka_unit_test(what_is_held_is_shown_before_a_method_nobody_knows),
        cmocka_unit_test(one_that_was_long_is_trusted_no_more),
        cmocka_unit_test(none_is_held_for_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

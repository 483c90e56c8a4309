/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define YEAR_2020 (UINT64_C(1577836800) * HUB_SECOND)

static void time_never_goes_back(void **state)
{
    uint64_t before = hub_clock_now();

    (void)state;
    assert_true(before > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = hub_clock_now();

        assert_true(now >= before);
        before = now;
    }
}

/* The peers of a segment compare their readings. */
static void now_is_the_monotonic_clock(void **state)
{
    struct timespec time;
    uint64_t before = hub_clock_now(), monotonic;

    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &time);
    monotonic = (uint64_t)time.tv_sec * HUB_SECOND + (uint64_t)time.tv_nsec;
    assert_true(before <= monotonic && monotonic <= hub_clock_now());
}

/* It is that of leases, which end although the machine sleeps. */
static void boot_is_the_clock_that_goes_on_in_suspend(void **state)
{
    struct timespec time;
    uint64_t before = hub_clock_boot(), boot;

    (void)state;
    assert_true(before > 0);
    clock_gettime(CLOCK_BOOTTIME, &time);
    boot = (uint64_t)time.tv_sec * HUB_SECOND + (uint64_t)time.tv_nsec;
    assert_true(before <= boot && boot <= hub_clock_boot());
}

static void wall_is_the_time_of_people(void **state)
{
    (void)state;
    assert_true(hub_clock_wall() > YEAR_2020);
}

static void a_deadline_lies_its_span_ahead(void **state)
{
    uint64_t before = hub_clock_now();
    uint64_t deadline = hub_clock_after(5 * HUB_SECOND);

    (void)state;
    assert_true(deadline >= before + 5 * HUB_SECOND);
    assert_true(deadline <= hub_clock_now() + 5 * HUB_SECOND);
}

static void a_long_span_may_end_a_little_later(void **state)
{
    uint64_t before = hub_clock_now();
    uint64_t deadline = hub_clock_about(5 * HUB_SECOND), soon = hub_clock_about(HUB_MILLISECOND);

    (void)state;
    assert_true(deadline >= before + 5 * HUB_SECOND);
    assert_true(deadline <= hub_clock_now() + 5 * HUB_SECOND + 50 * HUB_MILLISECOND);
    assert_true(soon >= before + HUB_MILLISECOND && soon <= hub_clock_now() + HUB_MILLISECOND);
}

/* A caller that relies on it misses no deadline. */
static void what_is_far_has_not_come(void **state)
{
    uint64_t end = hub_clock_after(20 * HUB_MILLISECOND);

    (void)state;
    assert_true(hub_clock_is_far(HUB_NEVER));
    assert_true(hub_clock_is_far(hub_clock_after(HUB_SECOND)));
    assert_false(hub_clock_is_far(0));
    while (hub_clock_left(end) > 0)
        assert_false(hub_clock_is_far(hub_clock_now() + 1));
}

static void a_span_that_does_not_fit_never_ends(void **state)
{
    (void)state;
    assert_true(hub_clock_about(HUB_NEVER) == HUB_NEVER);
    assert_true(hub_clock_after(HUB_NEVER) == HUB_NEVER);
    assert_true(hub_clock_after(HUB_NEVER - 1) == HUB_NEVER);
    assert_true(hub_clock_left(HUB_NEVER) == HUB_NEVER);
}

static void what_is_left_shrinks_to_0_and_stays_there(void **state)
{
    uint64_t left = hub_clock_left(hub_clock_after(10 * HUB_SECOND));

    (void)state;
    assert_true(left > 9 * HUB_SECOND && left <= 10 * HUB_SECOND);
    assert_int_equal(hub_clock_left(hub_clock_now()), 0);
    assert_int_equal(hub_clock_left(1), 0);
    assert_int_equal(hub_clock_left(0), 0);
}

/* Rounded down, a wait of half a millisecond would be a busy loop. */
static void milliseconds_are_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(hub_clock_left_ms(hub_clock_now() + HUB_MILLISECOND / 2, 1000), 1);
    assert_int_equal(hub_clock_left_ms(0, 1000), 0);
}

static void milliseconds_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(hub_clock_left_ms(HUB_NEVER, 10000), 10000);
    assert_int_equal(hub_clock_left_ms(HUB_NEVER, INT_MAX), INT_MAX);
    assert_int_equal(hub_clock_left_ms(hub_clock_after(HUB_SECOND * 100), 7), 7);
    assert_int_equal(hub_clock_left_ms(hub_clock_after(HUB_SECOND), 0), 0);
}

static void nanoseconds_become_seconds_and_the_rest(void **state)
{
    struct timespec time = hub_clock_timespec(3 * HUB_SECOND + 999999999);
    struct timespec never = hub_clock_timespec(HUB_NEVER);

    (void)state;
    assert_int_equal(time.tv_sec, 3);
    assert_int_equal(time.tv_nsec, 999999999);
    assert_true(never.tv_sec > 0 && never.tv_nsec >= 0 && never.tv_nsec < 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(now_is_the_monotonic_clock),
        cmocka_unit_test(boot_is_the_clock_that_goes_on_in_suspend),
        cmocka_unit_test(wall_is_the_time_of_people),
        cmocka_unit_test(a_deadline_lies_its_span_ahead),
        cmocka_unit_test(a_long_span_may_end_a_little_later),
        cmocka_unit_test(what_is_far_has_not_come),
        cmocka_unit_test(a_span_that_does_not_fit_never_ends),
        cmocka_unit_test(what_is_left_shrinks_to_0_and_stays_there),
        cmocka_unit_test(milliseconds_are_rounded_up),
        cmocka_unit_test(milliseconds_are_bounded),
        cmocka_unit_test(nanoseconds_become_seconds_and_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

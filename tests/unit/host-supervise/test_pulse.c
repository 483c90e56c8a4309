/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/pulse.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define INTERVAL (100 * HUB_MILLISECOND)
#define START    (1000 * HUB_SECOND)
#define HOUR     (3600 * HUB_SECOND)

static enum host_pulse_verdict judge(struct host_pulse *pulse, uint64_t beat_ns, uint64_t now_ns)
{
    const struct host_pulse_sight sight = {beat_ns, now_ns, host_pulse_most(INTERVAL, 2)};

    return host_pulse_judge(pulse, &sight);
}

/* r[verify shm.crash.heartbeat] r[verify shm.crash.heartbeat-clock] */
static void a_beat_may_be_two_intervals_old_and_not_more(void **state)
{
    struct host_pulse pulse = {0};

    (void)state;
    assert_int_equal(judge(&pulse, START, START), HOST_PULSE_WELL);
    assert_int_equal(judge(&pulse, START, START + 2 * INTERVAL), HOST_PULSE_WELL);
    assert_int_equal(judge(&pulse, START, START + 2 * INTERVAL + 1), HOST_PULSE_LATE);
    assert_int_equal(judge(&pulse, START + INTERVAL, START + 3 * INTERVAL), HOST_PULSE_WELL);
    assert_int_equal(judge(&pulse, START + INTERVAL, START + 3 * INTERVAL + 1), HOST_PULSE_LATE);
}

/* r[verify shm.crash.heartbeat-clock] */
static void old_beats_that_rise_are_none(void **state)
{
    struct host_pulse pulse = {0};

    (void)state;
    host_pulse_forgive(&pulse, START);
    for (uint64_t span = 0; span <= 20; span++)
        assert_int_equal(judge(&pulse, START - HOUR / 4 + span, START + span * INTERVAL),
                         span <= 2 ? HOST_PULSE_WELL : HOST_PULSE_LATE);
}

/* r[verify shm.crash.heartbeat] */
static void before_the_first_one_its_start_counts(void **state)
{
    struct host_pulse pulse = {0};

    (void)state;
    host_pulse_forgive(&pulse, START);
    assert_int_equal(judge(&pulse, 0, START + 2 * INTERVAL), HOST_PULSE_WELL);
    assert_int_equal(judge(&pulse, 0, START + 2 * INTERVAL + 1), HOST_PULSE_LATE);
}

/* r[verify shm.crash.heartbeat] r[verify supervise.watchdog.pause] */
static void time_that_is_forgiven_does_not_count(void **state)
{
    struct host_pulse pulse = {0};

    (void)state;
    assert_int_equal(judge(&pulse, START, START), HOST_PULSE_WELL);
    host_pulse_forgive(&pulse, START + HOUR);
    assert_int_equal(judge(&pulse, START, START + HOUR + 2 * INTERVAL), HOST_PULSE_WELL);
    assert_int_equal(judge(&pulse, START, START + HOUR + 2 * INTERVAL + 1), HOST_PULSE_LATE);
}

/* r[verify shm.crash.heartbeat-clock] */
static void one_ahead_of_the_clock_or_going_back_is_wrong(void **state)
{
    struct host_pulse pulse = {0};

    (void)state;
    assert_int_equal(judge(&pulse, START + HUB_SECOND, START), HOST_PULSE_WELL);
    assert_int_equal(judge(&pulse, START + HUB_SECOND - 1, START), HOST_PULSE_WRONG);
    assert_int_equal(judge(&pulse, START + HUB_SECOND + 1, START), HOST_PULSE_WRONG);
    assert_int_equal(judge(&pulse, UINT64_MAX, START), HOST_PULSE_WRONG);
    assert_int_equal(judge(&pulse, 0, START), HOST_PULSE_WRONG);
}

/* r[verify shm.crash.heartbeat] */
static void a_host_that_looks_an_interval_late_stood_still(void **state)
{
    (void)state;
    assert_false(host_pulse_stood_still(START, INTERVAL, START - 1));
    assert_false(host_pulse_stood_still(START, INTERVAL, START + INTERVAL));
    assert_true(host_pulse_stood_still(START, INTERVAL, START + INTERVAL + 1));
    assert_true(host_pulse_most(INTERVAL, 3) == 3 * INTERVAL);
    assert_true(host_pulse_most(UINT64_MAX / 2, 3) == HUB_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_beat_may_be_two_intervals_old_and_not_more),
        cmocka_unit_test(old_beats_that_rise_are_none),
        cmocka_unit_test(before_the_first_one_its_start_counts),
        cmocka_unit_test(time_that_is_forgiven_does_not_count),
        cmocka_unit_test(one_ahead_of_the_clock_or_going_back_is_wrong),
        cmocka_unit_test(a_host_that_looks_an_interval_late_stood_still),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/supervise/backoff.h"
#include "tests/support/testing.h"

#define MS    UINT64_C(1000000)
#define DRAWS 100000

static void begin(struct host_backoff *backoff, uint64_t initial_ns, uint64_t max_ns)
{
    assert_int_equal(host_backoff_init(backoff, initial_ns, max_ns, 42), 0);
}

static void the_first_restart_comes_at_once(void **state)
{
    struct host_backoff backoff;

    (void)state;
    begin(&backoff, 100 * MS, 30000 * MS);
    assert_int_equal(host_backoff_next(&backoff, 0), 0);
    assert_int_not_equal(host_backoff_next(&backoff, 0), 0);
}

static void the_delay_doubles_up_to_its_maximum(void **state)
{
    struct host_backoff backoff;

    (void)state;
    begin(&backoff, 100 * MS, 30000 * MS);
    assert_int_equal(host_backoff_next(&backoff, 0), 0);
    for (unsigned j = 0; j < 200; j++) {
        uint64_t most = j < 9 ? (100 * MS) << j : 30000 * MS;
        uint64_t delay = host_backoff_next(&backoff, 0);

        assert_in_range(delay, most / 2, most);
    }
}

static void jitter_stays_in_its_bounds_with_the_mean_of_three_quarters(void **state)
{
    struct host_backoff backoff;
    uint64_t sum = 0, least = UINT64_MAX, most = 0;

    (void)state;
    begin(&backoff, 1001, 1001);
    assert_int_equal(host_backoff_next(&backoff, 0), 0);
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t delay = host_backoff_next(&backoff, 0);

        sum += delay;
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
    }
    assert_int_equal(least, 501);
    assert_int_equal(most, 1001);
    assert_in_range(sum / DRAWS, 751 * 99 / 100, 751 * 101 / 100);
}

static void a_minute_of_service_begins_the_series_anew(void **state)
{
    struct host_backoff backoff;

    (void)state;
    begin(&backoff, 100 * MS, 30000 * MS);
    for (int i = 0; i < 5; i++)
        host_backoff_next(&backoff, 0);
    assert_int_not_equal(host_backoff_next(&backoff, HOST_BACKOFF_RESET_AFTER_NS - 1), 0);
    assert_int_equal(host_backoff_next(&backoff, HOST_BACKOFF_RESET_AFTER_NS), 0);
    assert_in_range(host_backoff_next(&backoff, 0), 50 * MS, 100 * MS);
    host_backoff_reset(&backoff);
    assert_int_equal(host_backoff_next(&backoff, 0), 0);
}

static void huge_spans_do_not_overflow(void **state)
{
    struct host_backoff backoff;

    (void)state;
    begin(&backoff, UINT64_MAX / 3, UINT64_MAX);
    host_backoff_next(&backoff, 0);
    assert_in_range(host_backoff_next(&backoff, 0), UINT64_MAX / 6, UINT64_MAX / 3);
    assert_in_range(host_backoff_next(&backoff, 0), UINT64_MAX / 3 - 1, UINT64_MAX / 3 * 2);
    for (int i = 0; i < 100; i++)
        assert_in_range(host_backoff_next(&backoff, 0), UINT64_MAX / 2, UINT64_MAX);
}

static void the_same_seed_gives_the_same_delays(void **state)
{
    struct host_backoff a, b;

    (void)state;
    begin(&a, 100 * MS, 30000 * MS);
    begin(&b, 100 * MS, 30000 * MS);
    for (int i = 0; i < 50; i++)
        assert_int_equal(host_backoff_next(&a, 0), host_backoff_next(&b, 0));
}

static void a_maximum_below_the_first_delay_is_refused(void **state)
{
    struct host_backoff backoff;

    (void)state;
    assert_int_equal(host_backoff_init(&backoff, 2, 1, 0), RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_restart_comes_at_once),
        cmocka_unit_test(the_delay_doubles_up_to_its_maximum),
        cmocka_unit_test(jitter_stays_in_its_bounds_with_the_mean_of_three_quarters),
        cmocka_unit_test(a_minute_of_service_begins_the_series_anew),
        cmocka_unit_test(huge_spans_do_not_overflow),
        cmocka_unit_test(the_same_seed_gives_the_same_delays),
        cmocka_unit_test(a_maximum_below_the_first_delay_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

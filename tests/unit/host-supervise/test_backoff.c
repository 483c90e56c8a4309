/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/supervise/backoff.h"
#include "tests/support/testing.h"

#define MS    UINT64_C(1000000)
#define DRAWS 100000

static struct rapahub_supervision how(uint64_t initial_ns, uint64_t max_ns,
                                      enum rapahub_jitter jitter)
{
    return (struct rapahub_supervision){.backoff_initial_ns = initial_ns,
                                        .backoff_max_ns = max_ns,
                                        .backoff_factor = 2,
                                        .jitter = jitter,
                                        .jitter_share = 0.5,
                                        .reset_after_ns = 60000 * MS};
}

static void begin(struct host_backoff *backoff, struct rapahub_supervision options)
{
    host_backoff_init(backoff, &options, 42);
}

static void the_first_restart_comes_at_once_unless_it_is_to_wait(void **state)
{
    struct rapahub_supervision options = how(100 * MS, 30000 * MS, RAPAHUB_JITTER_NONE);
    struct host_backoff backoff;

    (void)state;
    begin(&backoff, options);
    assert_int_equal(host_backoff_next(&backoff, 0), 0);
    assert_int_equal(host_backoff_next(&backoff, 0), 100 * MS);
    options.backoff_first = true;
    begin(&backoff, options);
    assert_int_equal(host_backoff_next(&backoff, 0), 100 * MS);
    assert_int_equal(host_backoff_next(&backoff, 0), 200 * MS);
}

/* r[verify supervise.backoff] */
static void the_delay_grows_by_its_factor_up_to_its_maximum(void **state)
{
    static const double factors[] = {1, 1.5, 2, 3, 10};
    struct host_backoff backoff;

    (void)state;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        struct rapahub_supervision options = how(100 * MS, 30000 * MS, RAPAHUB_JITTER_NONE);
        double exact = 1e8;

        options.backoff_factor = factors[i];
        begin(&backoff, options);
        assert_int_equal(host_backoff_next(&backoff, 0), 0);
        for (unsigned j = 0; j < 200; j++, exact *= factors[i]) {
            uint64_t wanted = exact < 3e10 ? (uint64_t)(exact + 0.5) : 30000 * MS;

            assert_in_range(host_backoff_next(&backoff, 0), wanted - 1, wanted + 1);
            exact = exact < 3e10 ? exact : 3e10;
        }
    }
}

/* After 10 steps from 100 ms to 102,400 ms each is twice the last. */
static void with_steps_the_maximum_is_reached_in_as_many(void **state)
{
    struct rapahub_supervision options = how(100 * MS, 102400 * MS, RAPAHUB_JITTER_NONE);
    struct host_backoff backoff;

    (void)state;
    options.backoff_steps = 10;
    options.backoff_first = true;
    begin(&backoff, options);
    for (unsigned j = 0; j <= 10; j++) {
        uint64_t wanted = (100 * MS) << j;

        assert_in_range(host_backoff_next(&backoff, 0), wanted - 2, wanted + 2);
    }
    assert_int_equal(host_backoff_next(&backoff, 0), 102400 * MS);
}

struct spread {
    uint64_t least, most, mean;
};

/* Draws the third delay, whose d is `initial` times 4. */
static struct spread draw(struct rapahub_supervision options)
{
    struct spread spread = {UINT64_MAX, 0, 0};
    struct host_backoff backoff;
    uint64_t sum = 0;

    options.backoff_first = true;
    begin(&backoff, options);
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t delay;

        host_backoff_reset(&backoff);
        host_backoff_next(&backoff, 0);
        host_backoff_next(&backoff, 0);
        delay = host_backoff_next(&backoff, 0);
        sum += delay;
        spread.least = delay < spread.least ? delay : spread.least;
        spread.most = delay > spread.most ? delay : spread.most;
    }
    spread.mean = sum / DRAWS;
    return spread;
}

static void assert_spread(struct spread spread, uint64_t least, uint64_t most)
{
    uint64_t mean = (least + most) / 2;

    assert_in_range(spread.least, least, least + (most - least) / 100);
    assert_in_range(spread.most, most - (most - least) / 100, most);
    assert_in_range(spread.mean, mean - mean / 100, mean + mean / 100);
}

/* r[verify supervise.backoff.jitter] */
static void each_jitter_stays_in_its_bounds_with_its_mean(void **state)
{
    struct spread spread;

    (void)state;
    assert_spread(draw(how(1000, 9000, RAPAHUB_JITTER_EQUAL)), 2000, 4000);
    assert_spread(draw(how(1000, 9000, RAPAHUB_JITTER_NONE)), 4000, 4000);
    assert_spread(draw(how(1000, 9000, RAPAHUB_JITTER_FULL)), 0, 4000);
    assert_spread(draw(how(1000, 9000, RAPAHUB_JITTER_ADDITIVE)), 4000, 6000);
    spread = draw(how(1000, 9000, RAPAHUB_JITTER_DECORRELATED));
    assert_in_range(spread.least, 1000, 1100);
    assert_int_equal(spread.most, 9000);
}

/* E(1) = 2000 of 1000 to 3000; then (1000 + 3 E) / 2. */
static void decorrelated_jitter_has_the_mean_of_its_recursion(void **state)
{
    struct spread spread = draw(how(1000, 1000000, RAPAHUB_JITTER_DECORRELATED));

    (void)state;
    assert_in_range(spread.mean, 5750 - 58, 5750 + 58);
}

static void no_jitter_goes_beyond_the_maximum(void **state)
{
    (void)state;
    for (int j = RAPAHUB_JITTER_EQUAL; j <= RAPAHUB_JITTER_ADDITIVE; j++)
        assert_in_range(draw(how(1000, 4100, (enum rapahub_jitter)j)).most, 3900, 4100);
}

/* r[verify supervise.backoff.reset] */
static void a_long_service_begins_the_series_anew(void **state)
{
    struct host_backoff backoff;

    (void)state;
    begin(&backoff, how(100 * MS, 30000 * MS, RAPAHUB_JITTER_EQUAL));
    for (int i = 0; i < 5; i++)
        host_backoff_next(&backoff, 0);
    assert_int_not_equal(host_backoff_next(&backoff, 60000 * MS - 1), 0);
    assert_int_equal(host_backoff_next(&backoff, 60000 * MS), 0);
    assert_in_range(host_backoff_next(&backoff, 0), 50 * MS, 100 * MS);
    host_backoff_reset(&backoff);
    assert_int_equal(host_backoff_next(&backoff, 0), 0);
}

static void no_delay_at_all_can_be_asked_for(void **state)
{
    struct host_backoff backoff;

    (void)state;
    begin(&backoff, how(RAPAHUB_NONE, 30000 * MS, RAPAHUB_JITTER_EQUAL));
    for (int i = 0; i < 100; i++)
        assert_int_equal(host_backoff_next(&backoff, 0), 0);
}

static void huge_spans_do_not_overflow(void **state)
{
    (void)state;
    for (int j = RAPAHUB_JITTER_EQUAL; j <= RAPAHUB_JITTER_ADDITIVE; j++) {
        struct host_backoff backoff;

        begin(&backoff, how(UINT64_MAX / 3, UINT64_MAX - 1, (enum rapahub_jitter)j));
        for (int i = 0; i < 300; i++)
            assert_true(host_backoff_next(&backoff, 0) < UINT64_MAX);
    }
}

static void the_same_seed_gives_the_same_delays(void **state)
{
    struct host_backoff a, b;

    (void)state;
    begin(&a, how(100 * MS, 30000 * MS, RAPAHUB_JITTER_FULL));
    begin(&b, how(100 * MS, 30000 * MS, RAPAHUB_JITTER_FULL));
    for (int i = 0; i < 50; i++)
        assert_int_equal(host_backoff_next(&a, 0), host_backoff_next(&b, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_restart_comes_at_once_unless_it_is_to_wait),
        cmocka_unit_test(the_delay_grows_by_its_factor_up_to_its_maximum),
        cmocka_unit_test(with_steps_the_maximum_is_reached_in_as_many),
        cmocka_unit_test(each_jitter_stays_in_its_bounds_with_its_mean),
        cmocka_unit_test(decorrelated_jitter_has_the_mean_of_its_recursion),
        cmocka_unit_test(no_jitter_goes_beyond_the_maximum),
        cmocka_unit_test(a_long_service_begins_the_series_anew),
        cmocka_unit_test(no_delay_at_all_can_be_asked_for),
        cmocka_unit_test(huge_spans_do_not_overflow),
        cmocka_unit_test(the_same_seed_gives_the_same_delays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

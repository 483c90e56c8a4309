/* SPDX-License-Identifier: Apache-2.0 */
/* The times of supervision: delays, the period of a budget, and a stop. */
#include "tests/unit/host-supervise/linting.h"

/* Each unit is the largest of which it is a whole number. r[verify supervise.lint.backoff] */
static void a_refusal_says_times_in_their_largest_unit(void **state)
{
    static const struct {
        uint64_t most, initial;
        const char *text;
    } cases[] = {
        {1, 999,
         "kv: backoff_max_ns (1 ns) is below backoff_initial_ns (999 ns); raise the one or "
         "lower the other"},
        {1000, 1001,
         "kv: backoff_max_ns (1 us) is below backoff_initial_ns (1001 ns); raise the "
         "one or lower the other"},
        {5 * MS, 5001000,
         "kv: backoff_max_ns (5 ms) is below backoff_initial_ns (5001 us); raise "
         "the one or lower the other"},
        {2 * SECOND, 2500 * MS,
         "kv: backoff_max_ns (2 s) is below backoff_initial_ns (2500 ms); "
         "raise the one or lower the other"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused((struct rapahub_supervision){.backoff_max_ns = cases[i].most,
                                                    .backoff_initial_ns = cases[i].initial},
                       "supervise.lint.backoff", cases[i].text);
    assert_taken((struct rapahub_supervision){.backoff_initial_ns = MS, .backoff_max_ns = MS});
    assert_taken(
        (struct rapahub_supervision){.backoff_initial_ns = RAPAHUB_NONE, .backoff_max_ns = MS});
}

/* The delays of five restarts: the first comes at once, then 100, 200, 400 and 800 ms.
 * r[verify supervise.lint.budget] */
static void a_period_is_longer_than_the_shortest_delays(void **state)
{
    static const struct {
        struct rapahub_supervision how;
        uint64_t shortest_ns;
    } cases[] = {
        {{.jitter = RAPAHUB_JITTER_NONE}, 1500 * MS},
        {{.jitter = RAPAHUB_JITTER_ADDITIVE}, 1500 * MS},
        {{.jitter = RAPAHUB_JITTER_EQUAL}, 750 * MS},
        {{.jitter = RAPAHUB_JITTER_DECORRELATED}, 400 * MS},
        {{.jitter = RAPAHUB_JITTER_NONE, .backoff_first = true}, 3100 * MS},
        {{.jitter = RAPAHUB_JITTER_NONE, .backoff_max_ns = 300 * MS}, 900 * MS},
        {{.jitter = RAPAHUB_JITTER_NONE, .backoff_factor = 1}, 400 * MS},
        {{.jitter = RAPAHUB_JITTER_NONE, .backoff_steps = 1}, 400 * MS},
        {{.jitter = RAPAHUB_JITTER_NONE, .restarts_max = 2}, 100 * MS},
        {{.jitter = RAPAHUB_JITTER_NONE, .restarts_max = 1, .backoff_first = true}, 100 * MS},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rapahub_supervision how = cases[i].how;

        how.period_ns = cases[i].shortest_ns + 1;
        assert_taken(how);
        how.period_ns = cases[i].shortest_ns;
        assert_int_equal(host_lint_child("kv", &how, NULL, &how), RAPAHUB_EINVAL);
        assert_string_equal(rapahub_last_error()->rule, "supervise.lint.budget");
    }
    assert_refused((struct rapahub_supervision){.jitter = RAPAHUB_JITTER_NONE,
                                                .period_ns = 100 * MS,
                                                .restarts_max = 3},
                   "supervise.lint.budget",
                   "kv: its delays alone outlast period_ns (100 ms), so that 3 restarts are never "
                   "within it and it is never given up; lengthen period_ns, shorten the delays, or "
                   "set on_exhausted to SLOW_RETRY");
}

/* There is no delay for sure, or no period, or no end. r[verify supervise.lint.budget] */
static void a_period_may_be_short_where_it_means_nothing(void **state)
{
    static const struct rapahub_supervision good[] = {
        {.jitter = RAPAHUB_JITTER_FULL},
        {.backoff_initial_ns = RAPAHUB_NONE},
        {.restarts_max = 1},
        {.restarts_max = -1, .backoff_first = true},
        {.jitter = RAPAHUB_JITTER_NONE, .restart = RAPAHUB_RESTART_TEMPORARY},
        {.jitter = RAPAHUB_JITTER_NONE, .on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct rapahub_supervision how = good[i];

        how.period_ns = 1;
        assert_taken(how);
    }
    assert_taken((struct rapahub_supervision){
        .jitter = RAPAHUB_JITTER_NONE, .restarts_max = 1 << 20, .period_ns = RAPAHUB_FOREVER});
}

static void a_stop_takes_all_its_times_together(void **state)
{
    const struct rapahub_supervision how = {.drain_ns = 1, .goodbye_ns = 10, .term_ns = 100};
    struct rapahub_supervision other = how;

    (void)state;
    assert_int_equal(host_lint_stop_ns(&how), 111);
    other.brutal = true;
    assert_int_equal(host_lint_stop_ns(&other), 0);
    other = how;
    other.goodbye_ns = RAPAHUB_NONE;
    assert_int_equal(host_lint_stop_ns(&other), 101);
    other = how;
    other.term_ns = RAPAHUB_NONE;
    assert_int_equal(host_lint_stop_ns(&other), 11);
    other = how;
    other.drain_ns = UINT64_MAX - 110;
    assert_int_equal(host_lint_stop_ns(&other), UINT64_MAX);
    other.drain_ns = UINT64_MAX - 109;
    assert_int_equal(host_lint_stop_ns(&other), UINT64_MAX);
}

/* r[verify supervise.lint.stop] */
static void a_stop_takes_an_hour_at_most(void **state)
{
    (void)state;
    assert_taken((struct rapahub_supervision){.drain_ns = HOUR - 2500 * MS});
    assert_refused((struct rapahub_supervision){.drain_ns = HOUR - 1500 * MS},
                   "supervise.lint.stop",
                   "kv: drain_ns, goodbye_ns and term_ns make 3601 s, above the most there may be, "
                   "3600 s; shorten them");
    assert_taken((struct rapahub_supervision){.drain_ns = 2 * HOUR, .brutal = true});
}

/* Each of the three times of a supervisor sets the limit. r[verify supervise.lint.stop] */
static void a_stop_takes_no_longer_than_that_of_its_supervisor(void **state)
{
    static const struct rapahub_supervision above[] = {
        {.drain_ns = SECOND}, {.goodbye_ns = SECOND}, {.term_ns = SECOND}};
    const struct rapahub_supervision brutal = {.brutal = true}, quiet = {.start_timeout_ns = 1};
    const struct rapahub_supervision fits = {.goodbye_ns = 400 * MS, .term_ns = 600 * MS};
    struct rapahub_supervision out;

    (void)state;
    for (size_t i = 0; i < COUNT(above); i++) {
        const struct rapahub_supervisor_options parent = {.supervision = &above[i]};

        assert_int_equal(host_lint_child("kv", &fits, &parent, &out), 0);
        assert_refused_below(&parent, (struct rapahub_supervision){0}, "supervise.lint.stop",
                             "kv: drain_ns, goodbye_ns and term_ns make 2500 ms, above those of "
                             "its supervisor, 1 s; shorten them");
    }
    assert_refused_below(&(struct rapahub_supervisor_options){.supervision = &brutal}, fits,
                         "supervise.lint.stop",
                         "kv: drain_ns, goodbye_ns and term_ns make 1 s, above those of its "
                         "supervisor, 0 s; shorten them");
    assert_int_equal(host_lint_child("kv", &brutal,
                                     &(struct rapahub_supervisor_options){.supervision = &brutal},
                                     &out),
                     0);
    assert_int_equal(host_lint_child("kv", NULL,
                                     &(struct rapahub_supervisor_options){.supervision = &quiet},
                                     &out),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_says_times_in_their_largest_unit),
        cmocka_unit_test(a_period_is_longer_than_the_shortest_delays),
        cmocka_unit_test(a_period_may_be_short_where_it_means_nothing),
        cmocka_unit_test(a_stop_takes_all_its_times_together),
        cmocka_unit_test(a_stop_takes_an_hour_at_most),
        cmocka_unit_test(a_stop_takes_no_longer_than_that_of_its_supervisor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

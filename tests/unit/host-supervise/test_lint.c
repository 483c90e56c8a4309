/* SPDX-License-Identifier: Apache-2.0 */
/* The options of supervision: their defaults, both sides of each bound, and what a refusal says.
 * That a tree asks for this is in test_tree.c. */
#include <string.h>

#include <rapahub/error.h>

#include "host/supervise/lint.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MS          HUB_MILLISECOND
#define SECOND      HUB_SECOND
#define HOUR        (3600 * HUB_SECOND)
#define DAY         (24 * HOUR)
#define COUNT(list) (sizeof(list) / sizeof *(list))

static void assert_taken(struct rapahub_supervision how)
{
    struct rapahub_supervision out;
    int r = host_lint_child("kv", &how, NULL, &out);

    if (r < 0)
        print_error("%s\n", rapahub_last_error()->text);
    assert_int_equal(r, 0);
}

static void assert_told(int r, const char *rule, const char *text)
{
    assert_int_equal(r, RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, rule);
    assert_string_equal(rapahub_last_error()->text, text);
}

/* It says so, and leaves alone where the options would have gone. */
static void assert_refused_below(const struct rapahub_supervisor_options *parent,
                                 struct rapahub_supervision how, const char *rule, const char *text)
{
    struct rapahub_supervision out = {.user = &out};

    assert_told(host_lint_child("kv", &how, parent, &out), rule, text);
    assert_ptr_equal(out.user, &out);
}

static void assert_refused(struct rapahub_supervision how, const char *rule, const char *text)
{
    assert_refused_below(NULL, how, rule, text);
}

static void assert_no_probe(const struct rapahub_probe *probe)
{
    assert_int_equal(probe->period_ns, 0);
    assert_int_equal(probe->timeout_ns, 0);
    assert_int_equal(probe->success, 0);
    assert_int_equal(probe->failure, 0);
}

/* r[verify supervise.lint] */
static void nothing_given_is_all_the_defaults(void **state)
{
    struct rapahub_supervision out;

    (void)state;
    memset(&out, 0xa5, sizeof out);
    assert_int_equal(host_lint_child("kv", NULL, NULL, &out), 0);
    assert_int_equal(out.restart, RAPAHUB_RESTART_PERMANENT);
    assert_int_equal(out.start, RAPAHUB_START_EAGER);
    assert_int_equal(out.restarts_max, 5);
    assert_int_equal(out.period_ns, 60 * SECOND);
    assert_int_equal(out.on_exhausted, RAPAHUB_EXHAUSTED_PARK);
    assert_int_equal(out.backoff_initial_ns, 100 * MS);
    assert_int_equal(out.backoff_max_ns, 30 * SECOND);
    assert_true(out.backoff_factor > 1.999 && out.backoff_factor < 2.001);
    assert_true(out.jitter_share > 0.0999 && out.jitter_share < 0.1001);
    assert_int_equal(out.reset_after_ns, 60 * SECOND);
    assert_int_equal(out.start_timeout_ns, 5 * SECOND);
    assert_int_equal(out.heartbeat_misses, 2);
    assert_int_equal(out.watchdog_signal, 6);
    assert_int_equal(out.abort_ns, 500 * MS);
    assert_int_equal(out.stall_ns, 0);
    assert_int_equal(out.overrun_ns, 0);
    assert_no_probe(&out.startup);
    assert_no_probe(&out.liveness);
    assert_no_probe(&out.readiness);
    assert_int_equal(out.drain_ns, 0);
    assert_int_equal(out.goodbye_ns, 500 * MS);
    assert_int_equal(out.term_ns, 2 * SECOND);
    assert_int_equal(out.finish_timeout_ns, 5 * SECOND);
    assert_int_equal(out.log_ring, 65536);
    assert_int_equal(out.log_line, 8192);
    assert_int_equal(out.log_rate, 200);
}

static void what_is_given_stays_as_it_is(void **state)
{
    const struct rapahub_supervision given = {
        .restarts_max = 7,
        .period_ns = 61 * SECOND,
        .on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK,
        .backoff_initial_ns = 3 * MS,
        .backoff_max_ns = 4 * MS,
        .backoff_factor = 1.5,
        .jitter_share = 0.25,
        .reset_after_ns = 5 * SECOND,
        .start_timeout_ns = 6 * SECOND,
        .heartbeat_misses = 8,
        .watchdog_signal = 9,
        .abort_ns = 10 * MS,
        .startup = {.period_ns = 11 * MS, .timeout_ns = 12 * MS, .success = 13, .failure = 14},
        .goodbye_ns = 15 * MS,
        .term_ns = 16 * MS,
        .finish_timeout_ns = 17 * MS,
        .log_ring = 18,
        .log_line = 119,
        .log_rate = 20};
    struct rapahub_supervision out;

    (void)state;
    assert_int_equal(host_lint_child("kv", &given, NULL, &out), 0);
    assert_memory_equal(&out, &given, sizeof given);
}

static void each_probe_that_is_asked_has_its_defaults(void **state)
{
    const struct rapahub_supervision given = {.startup = {.period_ns = 10 * MS},
                                              .liveness = {.period_ns = SECOND},
                                              .readiness = {.period_ns = DAY}};
    struct rapahub_supervision out;
    const struct rapahub_probe *const probes[] = {&out.startup, &out.liveness, &out.readiness};

    (void)state;
    assert_int_equal(host_lint_child("kv", &given, NULL, &out), 0);
    for (size_t i = 0; i < COUNT(probes); i++) {
        assert_int_equal(probes[i]->timeout_ns, SECOND);
        assert_int_equal(probes[i]->success, 1);
        assert_int_equal(probes[i]->failure, 3);
    }
}

static const char of_values[] = "supervise.lint.values";

/* r[verify supervise.lint.values] */
static void the_last_of_each_kind_is_taken_and_the_next_refused(void **state)
{
    static const struct {
        struct rapahub_supervision last, next;
        const char *text;
    } cases[] = {
        {{.restart = RAPAHUB_RESTART_MASK, .restart_mask = 1},
         {.restart = RAPAHUB_RESTART_MASK + 1},
         "kv: restart is none of RAPAHUB_RESTART_…; choose one that is"},
        {{.start = RAPAHUB_START_MANUAL},
         {.start = RAPAHUB_START_MANUAL + 1},
         "kv: start is none of RAPAHUB_START_…; choose one that is"},
        {{.when_down = RAPAHUB_WHEN_DOWN_FAIL},
         {.when_down = RAPAHUB_WHEN_DOWN_FAIL + 1},
         "kv: when_down is none of RAPAHUB_WHEN_DOWN_…; choose one that is"},
        {{.kill_mode = RAPAHUB_KILL_CGROUP},
         {.kill_mode = RAPAHUB_KILL_CGROUP + 1},
         "kv: kill_mode is none of RAPAHUB_KILL_…; choose one that is"},
        {{.oom_policy = RAPAHUB_OOM_KILL_GROUP},
         {.oom_policy = RAPAHUB_OOM_KILL_GROUP + 1},
         "kv: oom_policy is none of RAPAHUB_OOM_…; choose one that is"},
        {{.ready = RAPAHUB_READY_ATTACH},
         {.ready = RAPAHUB_READY_ATTACH + 1},
         "kv: ready is none of RAPAHUB_READY_…; choose one that is"},
        {{.on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK},
         {.on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK + 1},
         "kv: on_exhausted is none of RAPAHUB_EXHAUSTED_…; choose one that is"},
        {{.jitter = RAPAHUB_JITTER_ADDITIVE},
         {.jitter = RAPAHUB_JITTER_ADDITIVE + 1},
         "kv: jitter is none of RAPAHUB_JITTER_…; choose one that is"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_taken(cases[i].last);
        assert_refused(cases[i].next, of_values, cases[i].text);
    }
}

/* r[verify supervise.lint.values] */
static void a_budget_is_none_to_256_or_for_life_any(void **state)
{
    static const char text[] =
        "kv: restarts_max is not -1 to 256, nor, with a period_ns of RAPAHUB_FOREVER, to "
        "2,147,483,647; choose one that is";

    (void)state;
    assert_taken((struct rapahub_supervision){.restarts_max = -1});
    assert_taken(
        (struct rapahub_supervision){.restarts_max = 256, .backoff_initial_ns = RAPAHUB_NONE});
    assert_refused((struct rapahub_supervision){.restarts_max = 257}, of_values, text);
    assert_refused((struct rapahub_supervision){.restarts_max = -2}, of_values, text);
    assert_taken((struct rapahub_supervision){.restarts_max = 257, .period_ns = RAPAHUB_FOREVER});
    assert_taken(
        (struct rapahub_supervision){.restarts_max = INT32_MAX, .period_ns = RAPAHUB_FOREVER});
}

/* r[verify supervise.lint.values] */
static void both_ends_of_each_range_are_taken_and_what_is_outside_refused(void **state)
{
    (void)state;
    assert_taken((struct rapahub_supervision){.heartbeat_misses = 1000});
    assert_refused((struct rapahub_supervision){.heartbeat_misses = 1001}, of_values,
                   "kv: heartbeat_misses is above 1,000; choose one that is");
    assert_taken((struct rapahub_supervision){.watchdog_signal = 64});
    assert_taken((struct rapahub_supervision){.watchdog_signal = 1});
    assert_refused((struct rapahub_supervision){.watchdog_signal = 65}, of_values,
                   "kv: watchdog_signal is no signal; choose one that is");
    assert_refused((struct rapahub_supervision){.watchdog_signal = -1}, of_values,
                   "kv: watchdog_signal is no signal; choose one that is");
    assert_taken((struct rapahub_supervision){.backoff_steps = 1000});
    assert_refused((struct rapahub_supervision){.backoff_steps = 1001}, of_values,
                   "kv: backoff_steps is above 1,000; choose one that is");
    assert_taken((struct rapahub_supervision){.log_ring = 16 << 20});
    assert_refused((struct rapahub_supervision){.log_ring = (16 << 20) + 1}, of_values,
                   "kv: log_ring is above 16 MiB; choose one that is");
    assert_taken((struct rapahub_supervision){.log_line = 64});
    assert_taken((struct rapahub_supervision){.log_line = 8192});
    assert_refused((struct rapahub_supervision){.log_line = 63}, of_values,
                   "kv: log_line is not 64 to 8,192; choose one that is");
    assert_refused((struct rapahub_supervision){.log_line = 8193}, of_values,
                   "kv: log_line is not 64 to 8,192; choose one that is");
    assert_taken((struct rapahub_supervision){.log_rate = 100000});
    assert_refused((struct rapahub_supervision){.log_rate = 100001}, of_values,
                   "kv: log_rate is above 100,000; choose one that is");
    assert_taken((struct rapahub_supervision){.jitter_share = 10});
    assert_refused((struct rapahub_supervision){.jitter_share = 10.01}, of_values,
                   "kv: jitter_share is not 0 to 10; choose one that is");
    assert_taken((struct rapahub_supervision){.backoff_factor = 1});
    assert_taken((struct rapahub_supervision){.backoff_factor = 1e6});
    assert_refused((struct rapahub_supervision){.backoff_factor = 1.1e6}, "supervise.lint.factor",
                   "kv: backoff_factor is 1.1e+06, so that delays would shrink; from 1 to "
                   "1,000,000 they do not");
}

/* Any of the words that a later version may give a meaning. r[verify supervise.lint.values] */
static void each_reserved_word_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        struct rapahub_supervision child = {0};
        struct rapahub_supervisor_options group = {0}, out;

        child.reserved[i] = group.reserved[i] = 1;
        assert_refused(child, of_values,
                       "kv: its supervision has `reserved` set; build it with the headers of this "
                       "library, or zero it");
        assert_told(host_lint_supervisor(&group, &out), of_values,
                    "supervisor: its supervision has `reserved` set; build it with the headers of "
                    "this library, or zero it");
    }
}

/* r[verify supervise.lint.limits] */
static void a_limit_is_from_10_ms_to_a_day(void **state)
{
    static const uint64_t good[] = {0, 10 * MS, 10 * MS + 1, DAY - 1, DAY};
    static const uint64_t wrong[] = {1, 10 * MS - 1, DAY + 1};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_taken((struct rapahub_supervision){.stall_ns = good[i]});
        assert_taken((struct rapahub_supervision){.overrun_ns = good[i]});
        assert_taken((struct rapahub_supervision){.finish_timeout_ns = good[i]});
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_refused((struct rapahub_supervision){.stall_ns = wrong[i]}, "supervise.lint.limits",
                       "kv: stall_ns is neither 0, so that it is off, nor from 10 ms to 24 hours; "
                       "choose one of these");
        assert_refused((struct rapahub_supervision){.overrun_ns = wrong[i]},
                       "supervise.lint.limits",
                       "kv: overrun_ns is neither 0, so that it is off, nor from 10 ms to 24 "
                       "hours; choose one of these");
        assert_refused((struct rapahub_supervision){.finish_timeout_ns = wrong[i]},
                       "supervise.lint.finish",
                       "kv: finish_timeout_ns is not from 10 ms to 24 hours; give it in "
                       "nanoseconds");
    }
}

static const char of_probe[] = "supervise.lint.probe";

/* r[verify supervise.lint.probe] */
static void the_bounds_of_a_probe_are_inclusive(void **state)
{
    static const struct rapahub_probe good[] = {
        {.period_ns = 10 * MS},
        {.period_ns = DAY},
        {.period_ns = SECOND, .timeout_ns = 10 * MS},
        {.period_ns = SECOND, .timeout_ns = DAY},
        {.period_ns = SECOND, .success = 1000, .failure = 1000},
    };
    static const struct rapahub_probe asked = {.period_ns = SECOND};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_taken((struct rapahub_supervision){
            .startup = good[i], .liveness = good[i], .readiness = good[i]});
    assert_refused((struct rapahub_supervision){.liveness = {.success = 1}}, of_probe,
                   "kv: liveness.period_ns is not set, so that the probe is never asked; set it");
    assert_refused((struct rapahub_supervision){.startup = {.period_ns = 10 * MS - 1}}, of_probe,
                   "kv: startup.period_ns is not from 10 ms to 24 hours; correct it");
    assert_refused(
        (struct rapahub_supervision){.readiness = {.period_ns = SECOND, .timeout_ns = 1}}, of_probe,
        "kv: readiness.timeout_ns is not from 10 ms to 24 hours; correct it");
    assert_refused((struct rapahub_supervision){.startup = {.period_ns = SECOND, .success = 1001}},
                   of_probe, "kv: startup.success is above 1,000; lower it");
    assert_refused((struct rapahub_supervision){.startup = {.period_ns = SECOND, .failure = 1001}},
                   of_probe, "kv: startup.failure is above 1,000; lower it");
    assert_refused(
        (struct rapahub_supervision){.ready = RAPAHUB_READY_PROBE, .liveness = asked}, of_probe,
        "kv: ready is PROBE, and it has neither a startup nor a readiness probe, so that "
        "it is never ready; give it one");
    assert_refused((struct rapahub_supervision){.ready = RAPAHUB_READY_PROBE,
                                                .startup = asked,
                                                .start = RAPAHUB_START_LAZY},
                   of_probe,
                   "kv: is LAZY, so that its first call waits for its probes, too; set ready to "
                   "MESSAGE, or choose another start");
    assert_taken((struct rapahub_supervision){
        .ready = RAPAHUB_READY_PROBE, .startup = asked, .start = RAPAHUB_START_MANUAL});
    assert_taken((struct rapahub_supervision){.ready = RAPAHUB_READY_PROBE, .startup = asked});
    assert_taken((struct rapahub_supervision){.ready = RAPAHUB_READY_PROBE, .readiness = asked});
    assert_taken((struct rapahub_supervision){.start = RAPAHUB_START_LAZY, .readiness = asked});
}

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

/* Where there is no delay for sure, or no period, or no end. r[verify supervise.lint.budget] */
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

/* Whatever of its times a supervisor has. r[verify supervise.lint.stop] */
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

/* r[verify supervise.lint.significant] */
static void a_significant_child_ends_and_shuts_something_down(void **state)
{
    static const struct rapahub_supervisor_options never = {0},
                                                   all = {
                                                       .auto_shutdown =
                                                           RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT};
    struct rapahub_supervision how = {.significant = true}, out;

    (void)state;
    assert_refused_below(&all, how, "supervise.lint.significant",
                         "kv: is significant, and permanent, so that it never ends; choose another "
                         "restart, or do not set `significant`");
    how.restart = RAPAHUB_RESTART_TEMPORARY;
    assert_refused_below(&never, how, "supervise.lint.significant",
                         "kv: is significant, and below a supervisor whose auto_shutdown is NEVER; "
                         "choose another, or do not set `significant`");
    assert_refused_below(NULL, how, "supervise.lint.significant",
                         "kv: is significant, and below a supervisor whose auto_shutdown is NEVER; "
                         "choose another, or do not set `significant`");
    assert_int_equal(host_lint_child("kv", &how, &all, &out), 0);
}

/* r[verify supervise.lint.lazy] */
static void calls_of_a_lazy_child_wait(void **state)
{
    (void)state;
    assert_refused((struct rapahub_supervision){.start = RAPAHUB_START_LAZY,
                                                .when_down = RAPAHUB_WHEN_DOWN_FAIL},
                   "supervise.lint.lazy",
                   "kv: is LAZY, and the calls that would start it fail when it is down; choose "
                   "another when_down or start");
    assert_taken((struct rapahub_supervision){.start = RAPAHUB_START_LAZY,
                                              .when_down = RAPAHUB_WHEN_DOWN_WAIT});
}

/* r[verify supervise.lint.finish] */
static void a_finish_command_has_an_absolute_path_and_at_most_64_texts(void **state)
{
    static const char text[] = "kv: its finish command is not 1 to 64 texts that begin with the "
                               "absolute path of a program; name one";
    static const char *const relative[] = {"bin/true", NULL}, *const empty[] = {NULL, NULL};
    const char *words[66];

    (void)state;
    for (size_t i = 0; i < 66; i++)
        words[i] = "/bin/true";
    for (size_t count = 0; count <= 65; count++) {
        words[count] = NULL;
        if (count >= 1 && count <= 64)
            assert_taken((struct rapahub_supervision){.finish = words});
        else
            assert_refused((struct rapahub_supervision){.finish = words}, "supervise.lint.finish",
                           text);
        words[count] = "/bin/true";
    }
    assert_refused((struct rapahub_supervision){.finish = relative}, "supervise.lint.finish", text);
    assert_refused((struct rapahub_supervision){.finish = empty}, "supervise.lint.finish", text);
}

static struct rapahub_supervisor_options taken(struct rapahub_supervisor_options how)
{
    struct rapahub_supervisor_options out;

    memset(&out, 0xa5, sizeof out);
    assert_int_equal(host_lint_supervisor(&how, &out), 0);
    return out;
}

/* r[verify supervise.lint] */
static void a_supervisor_has_its_defaults(void **state)
{
    struct rapahub_supervisor_options out;

    (void)state;
    assert_int_equal(host_lint_supervisor(NULL, &out), 0);
    assert_int_equal(out.restarts_max, 0);
    assert_int_equal(out.period_ns, 60 * SECOND);
    assert_int_equal(out.on_exhausted, RAPAHUB_EXHAUSTED_ESCALATE);
    assert_int_equal(
        taken((struct rapahub_supervisor_options){.strategy = RAPAHUB_ONE_FOR_ALL}).restarts_max,
        10);
    assert_int_equal(
        taken((struct rapahub_supervisor_options){.strategy = RAPAHUB_REST_FOR_ONE}).restarts_max,
        10);
    assert_int_equal(
        taken((struct rapahub_supervisor_options){.strategy = RAPAHUB_SIMPLE}).restarts_max, 0);
    out = taken((struct rapahub_supervisor_options){.strategy = RAPAHUB_ONE_FOR_ALL,
                                                    .restarts_max = 3,
                                                    .period_ns = SECOND,
                                                    .on_exhausted = RAPAHUB_EXHAUSTED_PARK});
    assert_int_equal(out.restarts_max, 3);
    assert_int_equal(out.period_ns, SECOND);
    assert_int_equal(out.on_exhausted, RAPAHUB_EXHAUSTED_PARK);
}

/* r[verify supervise.lint.values] */
static void the_values_of_a_supervisor_have_bounds(void **state)
{
    static const struct rapahub_supervisor_options good[] = {
        {.auto_shutdown = RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT},
        {.restarts_max = -1},
        {.restarts_max = 256},
        {.restarts_max = INT32_MAX, .period_ns = RAPAHUB_FOREVER},
        {.on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK},
    };
    static const struct {
        struct rapahub_supervisor_options how;
        const char *text;
    } wrong[] = {
        {{.strategy = RAPAHUB_SIMPLE + 1},
         "supervisor: strategy is none of RAPAHUB_ONE_FOR_ONE …; choose one that is"},
        {{.name = "s", .auto_shutdown = RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT + 1},
         "s: auto_shutdown is none of RAPAHUB_AUTO_SHUTDOWN_…; choose one that is"},
        {{.name = "s", .restarts_max = -2},
         "s: restarts_max is not -1 to 256, nor, with a period_ns of RAPAHUB_FOREVER, to "
         "2,147,483,647; choose one that is"},
        {{.name = "s", .restarts_max = 257},
         "s: restarts_max is not -1 to 256, nor, with a period_ns of RAPAHUB_FOREVER, to "
         "2,147,483,647; choose one that is"},
        {{.name = "s", .on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK + 1},
         "s: on_exhausted is none of PARK, ESCALATE, CALLBACK; choose one that is"},
        {{.name = "s", .on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY},
         "s: on_exhausted is none of PARK, ESCALATE, CALLBACK; choose one that is"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        (void)taken(good[i]);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct rapahub_supervisor_options out = {.children_max = 77};

        assert_told(host_lint_supervisor(&wrong[i].how, &out), of_values, wrong[i].text);
        assert_int_equal(out.children_max, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_is_all_the_defaults),
        cmocka_unit_test(what_is_given_stays_as_it_is),
        cmocka_unit_test(each_probe_that_is_asked_has_its_defaults),
        cmocka_unit_test(the_last_of_each_kind_is_taken_and_the_next_refused),
        cmocka_unit_test(a_budget_is_none_to_256_or_for_life_any),
        cmocka_unit_test(both_ends_of_each_range_are_taken_and_what_is_outside_refused),
        cmocka_unit_test(each_reserved_word_is_refused),
        cmocka_unit_test(a_limit_is_from_10_ms_to_a_day),
        cmocka_unit_test(the_bounds_of_a_probe_are_inclusive),
        cmocka_unit_test(a_refusal_says_times_in_their_largest_unit),
        cmocka_unit_test(a_period_is_longer_than_the_shortest_delays),
        cmocka_unit_test(a_period_may_be_short_where_it_means_nothing),
        cmocka_unit_test(a_stop_takes_all_its_times_together),
        cmocka_unit_test(a_stop_takes_an_hour_at_most),
        cmocka_unit_test(a_stop_takes_no_longer_than_that_of_its_supervisor),
        cmocka_unit_test(a_significant_child_ends_and_shuts_something_down),
        cmocka_unit_test(calls_of_a_lazy_child_wait),
        cmocka_unit_test(a_finish_command_has_an_absolute_path_and_at_most_64_texts),
        cmocka_unit_test(a_supervisor_has_its_defaults),
        cmocka_unit_test(the_values_of_a_supervisor_have_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

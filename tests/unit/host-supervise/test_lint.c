/* SPDX-License-Identifier: Apache-2.0 */
/* The options of supervision: their defaults, both sides of each bound, and the text of each
 * refusal. test_tree.c shows that a tree checks them. */
#include "tests/unit/host-supervise/linting.h"

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
    static const struct rapahub_supervision given = {
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
        cmocka_unit_test(a_significant_child_ends_and_shuts_something_down),
        cmocka_unit_test(calls_of_a_lazy_child_wait),
        cmocka_unit_test(a_finish_command_has_an_absolute_path_and_at_most_64_texts),
        cmocka_unit_test(a_supervisor_has_its_defaults),
        cmocka_unit_test(the_values_of_a_supervisor_have_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

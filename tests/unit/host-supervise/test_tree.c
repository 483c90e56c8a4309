/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals when a child is added: each rule of lint broken alone. */
#include <string.h>

#include <rapahub/error.h>

#include "host/supervise/lint.h"
#include "host/supervise/tree.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define HOUR (3600 * HUB_SECOND)

struct stage {
    struct host_tree tree;
    uint32_t root;
};

static int put_group(struct stage *stage, const struct rapahub_supervisor_options *group,
                     uint32_t parent, uint32_t *out)
{
    const struct host_tree_plan plan = {
        .name = group->name ? group->name : "", .parent = parent, .group = group};

    return host_tree_add(&stage->tree, &plan, out);
}

static void begin(struct stage *stage, struct rapahub_supervisor_options group)
{
    assert_int_equal(host_tree_init(&stage->tree, 5), 0);
    assert_int_equal(put_group(stage, &group, HOST_TREE_NONE, &stage->root), 0);
}

static int put(struct stage *stage, const char *name, struct rapahub_supervision how)
{
    const struct host_tree_plan plan = {.name = name, .parent = stage->root, .how = &how};
    uint32_t place;

    return host_tree_add(&stage->tree, &plan, &place);
}

static void assert_broken(int r, int code, const char *rule, const char *words)
{
    assert_int_equal(r, code);
    assert_string_equal(rapahub_last_error()->rule, rule);
    if (!strstr(rapahub_last_error()->text, words))
        print_error("%s\n", rapahub_last_error()->text);
    assert_non_null(strstr(rapahub_last_error()->text, words));
}

static void assert_lint(struct rapahub_supervision how, const char *rule, const char *words)
{
    struct stage stage;
    uint32_t numbers;

    begin(&stage, (struct rapahub_supervisor_options){0});
    numbers = stage.tree.numbers;
    assert_broken(put(&stage, "kv", how), RAPAHUB_EINVAL, rule, words);
    assert_non_null(strstr(rapahub_last_error()->text, "kv"));
    assert_int_equal(stage.tree.numbers, numbers);
    assert_int_equal(host_tree_child_of(&stage.tree, stage.root, 0), HOST_TREE_NONE);
    host_tree_fini(&stage.tree);
}

/* r[verify supervise.lint] r[verify supervise.lint.values] */
static void a_value_that_is_none_is_refused(void **state)
{
    static const uint16_t wrong[] = {1, 0};

    (void)state;
    assert_lint((struct rapahub_supervision){.restart = (enum rapahub_restart)99},
                "supervise.lint.values", "restart is none");
    assert_lint((struct rapahub_supervision){.start = (enum rapahub_start)3},
                "supervise.lint.values", "start is none");
    assert_lint((struct rapahub_supervision){.restarts_max = -2}, "supervise.lint.values", "-1");
    assert_lint((struct rapahub_supervision){.restarts_max = 257}, "supervise.lint.values", "256");
    assert_lint((struct rapahub_supervision){.restarts_max = -2, .period_ns = RAPAHUB_FOREVER},
                "supervise.lint.values", "to 2,147,483,647");
    assert_lint((struct rapahub_supervision){.jitter = (enum rapahub_jitter)5},
                "supervise.lint.values", "jitter is none");
    assert_lint((struct rapahub_supervision){.jitter_share = -1}, "supervise.lint.values", "share");
    assert_lint((struct rapahub_supervision){.backoff_steps = 1001}, "supervise.lint.values",
                "1,000");
    assert_lint((struct rapahub_supervision){.on_exhausted = (enum rapahub_exhausted)5},
                "supervise.lint.values", "on_exhausted");
    assert_lint((struct rapahub_supervision){.reserved = {0, 1}}, "supervise.lint.values",
                "reserved");
    assert_lint((struct rapahub_supervision){.restart = RAPAHUB_RESTART_MASK},
                "supervise.lint.values", "restart_mask");
    assert_lint((struct rapahub_supervision){.force_exit = wrong}, "supervise.lint.values",
                "force_exit");
}

/* r[verify supervise.lint.limits] */
static void a_limit_that_nothing_keeps_is_refused(void **state)
{
    const uint64_t wrong[] = {1, 10 * HUB_MILLISECOND - 1, 24 * HOUR + 1, RAPAHUB_FOREVER};

    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_lint((struct rapahub_supervision){.stall_ns = wrong[i]}, "supervise.lint.limits",
                    "stall_ns is neither 0");
        assert_lint((struct rapahub_supervision){.overrun_ns = wrong[i]}, "supervise.lint.limits",
                    "overrun_ns is neither 0");
    }
}

/* r[verify supervise.lint.probe] */
static void a_probe_that_says_nothing_is_refused(void **state)
{
    const struct rapahub_probe good = {.period_ns = HUB_SECOND};
    const struct {
        struct rapahub_probe probe;
        const char *words;
    } cases[] = {
        {{.timeout_ns = HUB_SECOND}, "period_ns is not set"},
        {{.failure = 1}, "period_ns is not set"},
        {{.period_ns = 1}, "10 ms to 24 hours"},
        {{.period_ns = HUB_SECOND, .timeout_ns = 25 * HOUR}, "10 ms to 24 hours"},
        {{.period_ns = HUB_SECOND, .success = 1001}, "above 1,000"},
        {{.period_ns = HUB_SECOND, .failure = 1001}, "above 1,000"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_lint((struct rapahub_supervision){.startup = cases[i].probe}, "supervise.lint.probe",
                    cases[i].words);
        assert_lint((struct rapahub_supervision){.liveness = cases[i].probe},
                    "supervise.lint.probe", ": liveness.");
        assert_lint((struct rapahub_supervision){.readiness = cases[i].probe},
                    "supervise.lint.probe", ": readiness.");
    }
    assert_lint((struct rapahub_supervision){.ready = RAPAHUB_READY_PROBE, .liveness = good},
                "supervise.lint.probe", "neither a startup nor a readiness probe");
    assert_lint((struct rapahub_supervision){.ready = RAPAHUB_READY_PROBE,
                                             .startup = good,
                                             .start = RAPAHUB_START_LAZY},
                "supervise.lint.probe", "is LAZY");
    assert_lint((struct rapahub_supervision){.ready = (enum rapahub_ready)3},
                "supervise.lint.values", "ready is none");
}

static void a_probe_has_defaults_where_there_is_one(void **state)
{
    const struct rapahub_supervision given = {.liveness = {.period_ns = 10 * HUB_SECOND}};
    struct rapahub_supervision out;

    (void)state;
    assert_int_equal(host_lint_child("kv", &given, NULL, &out), 0);
    assert_int_equal(out.liveness.timeout_ns, HUB_SECOND);
    assert_int_equal(out.liveness.success, 1);
    assert_int_equal(out.liveness.failure, 3);
    assert_int_equal(out.readiness.timeout_ns, 0); /* it is none */
    assert_int_equal(out.readiness.failure, 0);
}

/* r[verify supervise.lint.backoff] r[verify supervise.lint.factor] */
static void delays_that_shrink_are_refused(void **state)
{
    (void)state;
    assert_lint((struct rapahub_supervision){.backoff_initial_ns = 2, .backoff_max_ns = 1},
                "supervise.lint.backoff",
                "backoff_max_ns (1 ns) is below backoff_initial_ns (2 ns)");
    assert_lint((struct rapahub_supervision){.backoff_factor = 0.5}, "supervise.lint.factor",
                "backoff_factor is 0.5");
}

/* r[verify supervise.lint.budget] */
static void a_budget_that_cannot_be_used_up_is_refused(void **state)
{
    struct rapahub_supervision how = {.backoff_initial_ns = 15 * HUB_SECOND,
                                      .backoff_max_ns = 15 * HUB_SECOND,
                                      .jitter = RAPAHUB_JITTER_NONE};
    struct stage stage;

    (void)state;
    assert_lint(how, "supervise.lint.budget", "outlast period_ns");
    assert_lint((struct rapahub_supervision){.restarts_max = 1,
                                             .backoff_first = true,
                                             .backoff_initial_ns = 60 * HUB_SECOND,
                                             .backoff_max_ns = 60 * HUB_SECOND,
                                             .jitter = RAPAHUB_JITTER_NONE},
                "supervise.lint.budget", "outlast period_ns");
    begin(&stage, (struct rapahub_supervisor_options){0});
    how.period_ns = 60 * HUB_SECOND + 1;
    assert_int_equal(put(&stage, "a", how), 0);
    how.period_ns = 60 * HUB_SECOND;
    how.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY;
    assert_int_equal(put(&stage, "b", how), 0);
    host_tree_fini(&stage.tree);
}

/* r[verify supervise.lint.stop] */
static void a_stop_longer_than_its_supervisors_is_refused(void **state)
{
    const struct rapahub_supervision brief = {.goodbye_ns = HUB_SECOND, .term_ns = HUB_SECOND};
    struct rapahub_supervision how = {.goodbye_ns = HOUR - HUB_SECOND, .term_ns = HUB_SECOND + 1};
    struct stage stage;

    (void)state;
    assert_lint(how, "supervise.lint.stop", "the most there may be, 3600 s");
    begin(&stage, (struct rapahub_supervisor_options){.supervision = &brief});
    assert_broken(put(&stage, "kv", (struct rapahub_supervision){0}), RAPAHUB_EINVAL,
                  "supervise.lint.stop", "those of its supervisor, ");
    assert_int_equal(put(&stage, "kv", brief), 0);
    host_tree_fini(&stage.tree);
}

/* r[verify supervise.lint.lazy] */
static void a_lazy_child_whose_calls_never_wait_is_refused(void **state)
{
    struct rapahub_supervision how = {.start = RAPAHUB_START_LAZY,
                                      .when_down = RAPAHUB_WHEN_DOWN_FAIL};

    (void)state;
    assert_lint(how, "supervise.lint.lazy", "LAZY");
}

/* r[verify supervise.lint.significant] */
static void a_significant_child_that_shuts_nothing_down_is_refused(void **state)
{
    struct rapahub_supervision how = {.significant = true};
    struct stage stage;

    (void)state;
    assert_lint(how, "supervise.lint.significant", "permanent");
    how.restart = RAPAHUB_RESTART_TRANSIENT;
    assert_lint(how, "supervise.lint.significant", "auto_shutdown is NEVER");
    begin(&stage, (struct rapahub_supervisor_options){.auto_shutdown =
                                                          RAPAHUB_AUTO_SHUTDOWN_ANY_SIGNIFICANT});
    assert_int_equal(put(&stage, "kv", how), 0);
    host_tree_fini(&stage.tree);
}

/* r[verify supervise.lint.circle] */
static void a_circle_is_refused_and_named(void **state)
{
    const struct rapahub_dependency on_a[] = {{RAPAHUB_REQUIRES, "a"}, {0}},
                                    on_b[] = {{RAPAHUB_AFTER, "b"}, {0}},
                                    on_c[] = {{RAPAHUB_WANTS, "x"}, {RAPAHUB_PART_OF, "c"}, {0}};
    struct stage stage;

    (void)state;
    begin(&stage, (struct rapahub_supervisor_options){0});
    assert_broken(put(&stage, "a", (struct rapahub_supervision){.dependencies = on_a}),
                  RAPAHUB_EINVAL, "supervise.lint.circle", "a -> a");
    assert_int_equal(put(&stage, "a", (struct rapahub_supervision){.dependencies = on_b}), 0);
    assert_int_equal(put(&stage, "b", (struct rapahub_supervision){.dependencies = on_c}), 0);
    assert_broken(put(&stage, "c", (struct rapahub_supervision){.dependencies = on_a}),
                  RAPAHUB_EINVAL, "supervise.lint.circle", "c -> a -> b -> c");
    assert_int_equal(put(&stage, "c", (struct rapahub_supervision){0}), 0);
    host_tree_fini(&stage.tree);
}

/* r[verify supervise.lint.simple] r[verify supervise.lint.name] */
static void names_are_different_and_simple_children_have_no_order(void **state)
{
    const struct rapahub_dependency on_a[] = {{RAPAHUB_REQUIRES, "a"}, {0}};
    struct stage stage;

    (void)state;
    begin(&stage, (struct rapahub_supervisor_options){.strategy = RAPAHUB_SIMPLE});
    assert_int_equal(put(&stage, "a", (struct rapahub_supervision){0}), 0);
    assert_broken(put(&stage, "a", (struct rapahub_supervision){0}), -EEXIST, "supervise.lint.name",
                  "choose another");
    assert_broken(put(&stage, "b", (struct rapahub_supervision){.dependencies = on_a}),
                  RAPAHUB_EINVAL, "supervise.lint.simple", "no order");
    host_tree_fini(&stage.tree);
}

static void a_supervisors_own_options_are_checked(void **state)
{
    struct rapahub_supervisor_options wrong = {.name = "s", .strategy = (enum rapahub_strategy)4};
    struct stage stage;
    uint32_t place;

    (void)state;
    begin(&stage, (struct rapahub_supervisor_options){0});
    assert_broken(put_group(&stage, &wrong, stage.root, &place), RAPAHUB_EINVAL,
                  "supervise.lint.values", "strategy");
    wrong = (struct rapahub_supervisor_options){.name = "s",
                                                .on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY};
    assert_broken(put_group(&stage, &wrong, stage.root, &place), RAPAHUB_EINVAL,
                  "supervise.lint.values", "on_exhausted");
    host_tree_fini(&stage.tree);
}

/* r[verify supervise.bounds] */
/* r[verify supervise.lint.process] */
static void what_only_a_process_has_is_refused_of_a_supervisor(void **state)
{
    static const char *const texts[] = {"/bin/true", NULL};
    static const uint16_t exits[] = {RAPAHUB_STATUS(3), 0};
    const struct {
        struct rapahub_supervision how;
        const char *words;
    } wrong[] = {
        {{.finish = texts}, "finish is set"},
        {{.keep_fds = texts}, "keep_fds is set"},
        {{.kill_mode = RAPAHUB_KILL_CGROUP}, "kill_mode"},
        {{.oom_policy = RAPAHUB_OOM_STOP}, "oom_policy"},
        {{.ready = RAPAHUB_READY_ATTACH}, "ready is set"},
        {{.stall_ns = HUB_SECOND}, "stall_ns"},
        {{.overrun_ns = HUB_SECOND}, "overrun_ns"},
        {{.startup = {.period_ns = HUB_SECOND}}, "startup"},
        {{.liveness = {.period_ns = HUB_SECOND}}, "liveness"},
        {{.readiness = {.period_ns = HUB_SECOND}}, "readiness"},
        {{.success_exit = exits}, "success_exit"},
        {{.prevent_exit = exits}, "prevent_exit"},
        {{.force_exit = exits}, "force_exit"},
    };
    struct stage stage;
    uint32_t place;

    (void)state;
    begin(&stage, (struct rapahub_supervisor_options){0});
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct rapahub_supervisor_options group = {.name = "s", .supervision = &wrong[i].how};

        assert_broken(put_group(&stage, &group, stage.root, &place), RAPAHUB_EINVAL,
                      "supervise.lint.process", wrong[i].words);
        assert_non_null(strstr(rapahub_last_error()->text, "s: is a supervisor"));
    }
    host_tree_fini(&stage.tree);
}

static void a_full_table_refuses_and_a_closed_child_gives_its_place(void **state)
{
    struct stage stage;

    (void)state;
    begin(&stage, (struct rapahub_supervisor_options){0});
    assert_int_equal(put(&stage, "a", (struct rapahub_supervision){0}), 0);
    assert_int_equal(put(&stage, "b", (struct rapahub_supervision){0}), 0);
    assert_int_equal(put(&stage, "c", (struct rapahub_supervision){0}), 0);
    assert_int_equal(put(&stage, "d", (struct rapahub_supervision){0}), 0);
    assert_int_equal(put(&stage, "e", (struct rapahub_supervision){0}), RAPAHUB_EFULL);
    stage.tree.children[host_tree_named(&stage.tree, stage.root, "b")].state = HOST_CHILD_CLOSED;
    assert_int_equal(put(&stage, "e", (struct rapahub_supervision){0}), 0);
    assert_int_equal(host_tree_find(&stage.tree, 6), host_tree_named(&stage.tree, stage.root, "e"));
    assert_int_equal(host_tree_find(&stage.tree, 3), HOST_TREE_NONE);
    host_tree_fini(&stage.tree);
}

static void a_supervisor_has_as_many_children_as_it_may(void **state)
{
    static const char *const names[] = {"a", "b", "c"};

    (void)state;
    for (uint32_t most = 1; most <= 3; most++) {
        struct stage stage;

        begin(&stage, (struct rapahub_supervisor_options){.children_max = most});
        for (uint32_t i = 0; i < most; i++)
            assert_int_equal(put(&stage, names[i], (struct rapahub_supervision){0}), 0);
        assert_broken(put(&stage, "x", (struct rapahub_supervision){0}), RAPAHUB_EFULL, "",
                      "x: its supervisor may have ");
        stage.tree.children[host_tree_named(&stage.tree, stage.root, "a")].state =
            HOST_CHILD_CLOSED;
        assert_int_equal(put(&stage, "x", (struct rapahub_supervision){0}), 0);
        host_tree_fini(&stage.tree);
    }
}

/* r[verify supervise.failed.told] */
static void each_reason_of_a_last_end_has_its_words(void **state)
{
    (void)state;
    assert_string_equal(host_tree_reason(HOST_FAILED_BUDGET), "");
    assert_string_equal(host_tree_reason(HOST_FAILED_STATUS), ", which is one of prevent_exit");
    assert_string_equal(host_tree_reason(HOST_FAILED_OOM), ", and its oom_policy is to stop");
    assert_string_equal(host_tree_reason(HOST_FAILED_BARRED),
                        ", and its finish command ended with status 125");
    assert_string_equal(host_tree_reason(HOST_FAILED_ABOVE), ", and its supervisor has failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_is_none_is_refused),
        cmocka_unit_test(each_reason_of_a_last_end_has_its_words),
        cmocka_unit_test(a_limit_that_nothing_keeps_is_refused),
        cmocka_unit_test(a_probe_that_says_nothing_is_refused),
        cmocka_unit_test(a_probe_has_defaults_where_there_is_one),
        cmocka_unit_test(delays_that_shrink_are_refused),
        cmocka_unit_test(a_budget_that_cannot_be_used_up_is_refused),
        cmocka_unit_test(a_stop_longer_than_its_supervisors_is_refused),
        cmocka_unit_test(a_lazy_child_whose_calls_never_wait_is_refused),
        cmocka_unit_test(a_significant_child_that_shuts_nothing_down_is_refused),
        cmocka_unit_test(a_circle_is_refused_and_named),
        cmocka_unit_test(names_are_different_and_simple_children_have_no_order),
        cmocka_unit_test(a_supervisors_own_options_are_checked),
        cmocka_unit_test(what_only_a_process_has_is_refused_of_a_supervisor),
        cmocka_unit_test(a_supervisor_has_as_many_children_as_it_may),
        cmocka_unit_test(a_full_table_refuses_and_a_closed_child_gives_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

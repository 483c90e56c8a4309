/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions in their exact order, at given times. */
#include "tests/unit/host-supervise/stage.h"

/* r[verify supervise.exhausted] r[verify supervise.root] */
static void a_failure_escalates_through_three_levels_and_the_host_lives(void **state)
{
    const struct rapahub_supervision once = {.restarts_max = 1,
                                             .on_exhausted = RAPAHUB_EXHAUSTED_ESCALATE,
                                             .backoff_initial_ns = RAPAHUB_NONE};
    struct stage stage;
    uint32_t root, middle, low, leaf, other;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    middle =
        add_group(&stage, root, "m", (struct rapahub_supervisor_options){.supervision = &once});
    low = add_group(&stage, middle, "l", (struct rapahub_supervisor_options){.supervision = &once});
    leaf = add(&stage, low, "x", once);
    other = add(&stage, root, "o", often);
    die(&stage, leaf);
    assert_string_equal(stage.log, "+x ");
    die(&stage, leaf); /* the second of x: l fails once, and all it has begins anew */
    assert_string_equal(stage.log, "+x ");
    die(&stage, leaf);
    die(&stage, leaf); /* the second of l: m fails once */
    assert_string_equal(stage.log, "+x ");
    for (int i = 0; i < 3; i++)
        die(&stage, leaf);
    assert_string_equal(stage.log, "+x ");
    die(&stage, leaf); /* the second of m: the root */
    assert_string_equal(stage.log, "m=failed -o o=failed =failed ");
    assert_int_equal(child(&stage, root)->state, HOST_CHILD_FAILED);
    stage.log[0] = '\0';
    assert_int_equal(host_supervisor_reset(&stage.machine, other, stage.now), 0);
    carry_out(&stage);
    assert_string_equal(stage.log, "+o ");
    assert_int_equal(child(&stage, root)->state, HOST_CHILD_READY);
    assert_int_equal(child(&stage, middle)->state, HOST_CHILD_FAILED);
    end(&stage);
}

static void each_policy_has_its_end(void **state)
{
    struct rapahub_supervision how = {.restarts_max = 1,
                                      .backoff_initial_ns = 10 * MS,
                                      .backoff_max_ns = 50 * MS,
                                      .on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK};
    struct stage stage;
    uint32_t root, x;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    x = add(&stage, root, "x", how);
    die(&stage, x);
    stage.answer = RAPAHUB_EXHAUSTED_SLOW_RETRY;
    for (int i = 0; i < 20; i++) { /* slow, and for ever */
        die(&stage, x);
        assert_string_equal(stage.log, "");
        assert_int_equal(child(&stage, x)->due_ns, stage.now + 50 * MS);
        assert_int_equal(host_supervisor_due(&stage.machine, stage.now), stage.now + 50 * MS);
        pass(&stage, 50 * MS);
        assert_string_equal(stage.log, "+x ");
    }
    stage.answer = RAPAHUB_EXHAUSTED_PARK;
    child(&stage, x)->why = HOST_FAILED_STATUS; /* as it was before */
    die(&stage, x);
    assert_string_equal(stage.log, "x=failed ");
    assert_int_equal(child(&stage, x)->why, HOST_FAILED_BUDGET);
    assert_int_equal(stage.asked, 21);
    assert_int_equal(host_supervisor_start(&stage.machine, x, stage.now), RAPAHUB_EGIVENUP);
    assert_int_equal(host_supervisor_reset(&stage.machine, x, stage.now), 0);
    carry_out(&stage);
    die(&stage, x);
    assert_string_equal(stage.log, "+x "); /* its budget was cleared */
    stage.answer = RAPAHUB_EXHAUSTED_ESCALATE;
    die(&stage, x);
    assert_int_equal(child(&stage, root)->state, HOST_CHILD_FAILED);
    end(&stage);
}

/* r[verify supervise.lazy] */
static void a_lazy_child_waits_for_a_call_and_is_counted_then(void **state)
{
    const struct rapahub_supervision how = {.start = RAPAHUB_START_LAZY,
                                            .restarts_max = 1,
                                            .period_ns = RAPAHUB_FOREVER,
                                            .backoff_initial_ns = RAPAHUB_NONE};
    struct stage stage;
    uint32_t root, x, eager;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    x = add(&stage, root, "x", how);
    assert_string_equal(stage.log, "");
    eager = add(&stage, root, "eager", (struct rapahub_supervision){0});
    stage.log[0] = '\0';
    assert_int_equal(host_supervisor_outlook(&stage.machine, eager), HOST_OUTLOOK_STARTS);
    assert_int_equal(host_supervisor_outlook(&stage.machine, x), HOST_OUTLOOK_CALL);
    (void)host_supervisor_call(&stage.machine, x, stage.now);
    carry_out(&stage);
    assert_int_equal(host_supervisor_outlook(&stage.machine, x), HOST_OUTLOOK_CALL);
    assert_string_equal(stage.log, "+x ");
    for (int i = 0; i < 2; i++) {
        die(&stage, x);
        pass(&stage, HUB_SECOND);
        assert_string_equal(stage.log, "");
        assert_int_equal(child(&stage, x)->state, HOST_CHILD_BACKOFF);
        (void)host_supervisor_call(&stage.machine, x, stage.now);
        carry_out(&stage);
        assert_string_equal(stage.log, i == 0 ? "+x " : "x=failed ");
    }
    end(&stage);
}

/* r[verify supervise.group] */
static void two_failures_of_one_group_are_one_group(void **state)
{
    struct stage stage;
    uint32_t root, a, b;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "",
                     (struct rapahub_supervisor_options){.strategy = RAPAHUB_REST_FOR_ONE});
    a = add(&stage, root, "a", often);
    b = add(&stage, root, "b", often);
    add(&stage, root, "c", often);
    stage.idle = true;
    die(&stage, b);
    assert_string_equal(stage.log, "-c +b ");
    die(&stage, a); /* while b starts */
    assert_string_equal(stage.log, "-b +a ");
    stage.idle = false;
    (void)host_supervisor_attached(&stage.machine, a, child(&stage, a)->incarnation);
    (void)host_supervisor_ready(&stage.machine, a, child(&stage, a)->incarnation, stage.now);
    stage.log[0] = '\0';
    carry_out(&stage);
    assert_string_equal(stage.log, "+b +c ");
    end(&stage);
}

/* r[verify supervise.restart.asked] r[verify supervise.closed] */
static void what_is_asked_for_counts_nothing(void **state)
{
    const struct rapahub_dependency on_a[] = {{RAPAHUB_REQUIRES, "a"}, {0}};
    struct stage stage;
    uint32_t root, a;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    a = add(&stage, root, "a", (struct rapahub_supervision){.restarts_max = -1});
    add(&stage, root, "b", (struct rapahub_supervision){.dependencies = on_a, .restarts_max = -1});
    stage.log[0] = '\0';
    for (int i = 0; i < 3; i++)
        assert_int_equal(host_supervisor_restart(&stage.machine, a, stage.now), 0);
    carry_out(&stage);
    assert_string_equal(stage.log, "-b -a +a +b ");
    assert_int_equal(host_supervisor_stop(&stage.machine, a, stage.now), 0);
    stage.log[0] = '\0';
    carry_out(&stage);
    assert_string_equal(stage.log, "-b -a ");
    assert_int_equal(host_supervisor_close(&stage.machine, a, stage.now), 0);
    assert_int_equal(host_supervisor_start(&stage.machine, a, stage.now), RAPAHUB_ECLOSED);
    end(&stage);
}

/* r[verify supervise.start.pace] */
static void starts_are_counted_and_paced(void **state)
{
    struct stage stage;
    uint32_t root;

    (void)state;
    begin(&stage);
    host_pace_init(&stage.machine.pace, 2, 3, 10 * MS);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    stage.idle = true;
    for (int i = 0; i < 6; i++)
        add(&stage, root, (char[2]){(char)('a' + i), 0}, often);
    assert_string_equal(stage.log, "+a +b "); /* two at once */
    stage.idle = false;
    for (uint32_t i = 1; i < 3; i++) {
        (void)host_supervisor_attached(&stage.machine, i, child(&stage, i)->incarnation);
        (void)host_supervisor_ready(&stage.machine, i, child(&stage, i)->incarnation, stage.now);
    }
    carry_out(&stage);
    assert_string_equal(stage.log, "+a +b +c "); /* three tokens */
    assert_int_equal(host_supervisor_due(&stage.machine, stage.now), stage.now + 10 * MS);
    pass(&stage, 10 * MS);
    pass(&stage, 10 * MS);
    pass(&stage, 10 * MS - 1);
    assert_string_equal(stage.log, "+a +b +c +d +e ");
    pass(&stage, 1);
    assert_string_equal(stage.log, "+a +b +c +d +e +f ");
    end(&stage);
}

/* r[verify supervise.trial] */
static void a_child_on_trial_is_kept_once_it_was_ready(void **state)
{
    struct host_tree_plan plan = {.name = "x", .how = &often, .trial = true};
    struct stage stage;
    uint32_t x;

    (void)state;
    begin(&stage);
    plan.parent = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    stage.idle = true;
    assert_int_equal(host_supervisor_add(&stage.machine, &plan, stage.now, &x), 0);
    carry_out(&stage);
    die(&stage, x);
    assert_string_equal(stage.log, "");
    assert_int_equal(child(&stage, x)->state, HOST_CHILD_CLOSED);
    stage.idle = false;
    assert_int_equal(host_supervisor_add(&stage.machine, &plan, stage.now, &x), 0);
    carry_out(&stage);
    die(&stage, x);
    assert_string_equal(stage.log, "+x ");
    end(&stage);
}

#define NODES 32

/* A graph whose edges go from later to earlier names, added in any order. */
struct dag {
    uint32_t edges[NODES]; /* bits: whom it requires */
    uint32_t places[NODES];
    uint32_t count;
};

static void add_dag(struct stage *stage, struct dag *dag, uint32_t root, uint32_t index)
{
    struct rapahub_dependency list[RAPAHUB_DEPENDENCIES_MAX + 1] = {{0}};
    char names[NODES][12];
    struct rapahub_supervision how = often;
    uint32_t count = 0;

    for (uint32_t i = 0; i < dag->count; i++) {
        snprintf(names[i], sizeof names[i], "%u", i);
        if (dag->edges[index] >> i & 1)
            list[count++] = (struct rapahub_dependency){RAPAHUB_REQUIRES, names[i]};
    }
    how.dependencies = list;
    dag->places[index] = add(stage, root, names[index], how);
}

static void draw_dag(struct hub_random *random, struct dag *dag)
{
    *dag = (struct dag){.count = 2 + (uint32_t)hub_random_below(random, NODES - 1)};
    for (uint32_t i = 1; i < dag->count; i++)
        for (uint32_t n = 0; n < 1 + hub_random_below(random, 3); n++)
            dag->edges[i] |= 1u << hub_random_below(random, i);
}

/* Collects the words of the log after a mark, in their order, and returns their number. */
static uint32_t words(const char *log, char mark, uint32_t *out)
{
    uint32_t count = 0;

    for (; *log; log = strchr(log, ' ') + 1)
        if (*log == mark)
            out[count++] = (uint32_t)strtoul(log + 1, NULL, 10);
    return count;
}

static void check_death(struct stage *stage, const struct dag *dag, uint32_t victim)
{
    uint32_t below = 1u << victim, stopped[NODES], started[NODES], stops, starts;

    for (uint32_t i = victim + 1; i < dag->count; i++)
        if (dag->edges[i] & below)
            below |= 1u << i;
    die(stage, dag->places[victim]);
    stops = words(stage->log, '-', stopped);
    starts = words(stage->log, '+', started);
    assert_int_equal(starts, __builtin_popcount(below));
    assert_int_equal(stops, starts - 1);
    for (uint32_t i = 0, seen = 0; i < starts; i++) {
        assert_true(below >> started[i] & 1); /* no other child */
        assert_int_equal(dag->edges[started[i]] & below & ~seen, 0);
        seen |= 1u << started[i];
    }
    for (uint32_t i = 0, gone = 0; i < stops; i++) {
        gone |= 1u << stopped[i];
        for (uint32_t n = 0; n < dag->count; n++)
            if (below >> n & 1 && n != victim && dag->edges[n] >> stopped[i] & 1)
                assert_true(gone >> n & 1);
    }
}

/* r[verify supervise.order] r[verify supervise.requires] */
static void starts_and_stops_of_a_graph_are_topological(void **state)
{
    struct hub_random random;

    (void)state;
    hub_random_init(&random, 7);
    for (int round = 0; round < 300; round++) {
        struct stage stage;
        struct dag dag;
        uint32_t root;

        begin(&stage);
        draw_dag(&random, &dag);
        root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
        for (uint32_t i = dag.count; i > 0; i--)
            add_dag(&stage, &dag, root, i - 1);
        for (int i = 0; i < 10; i++)
            check_death(&stage, &dag, (uint32_t)hub_random_below(&random, dag.count));
        end(&stage);
    }
}

/* Other dependencies call nobody. r[verify supervise.requires] */
static void a_child_that_requires_one_that_nobody_called_calls_it(void **state)
{
    static const struct {
        enum rapahub_dependency_kind kind;
        const char *log;
    } cases[] = {{RAPAHUB_REQUIRES, "+x +y "},
                 {RAPAHUB_PART_OF, ""},
                 {RAPAHUB_WANTS, "+y "},
                 {RAPAHUB_AFTER, "+y "}};
    static const enum rapahub_start starts[] = {RAPAHUB_START_LAZY, RAPAHUB_START_MANUAL};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const struct rapahub_dependency on_x[] = {{cases[i / 2].kind, "x"}, {0}};
        struct rapahub_supervision how = often;
        struct stage stage;
        uint32_t root;

        begin(&stage);
        root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
        how.start = starts[i % 2];
        add(&stage, root, "x", how);
        assert_string_equal(stage.log, "");
        how.start = RAPAHUB_START_EAGER;
        how.dependencies = on_x;
        add(&stage, root, "y", how);
        assert_string_equal(stage.log, cases[i / 2].log);
        end(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_escalates_through_three_levels_and_the_host_lives),
        cmocka_unit_test(each_policy_has_its_end),
        cmocka_unit_test(a_lazy_child_waits_for_a_call_and_is_counted_then),
        cmocka_unit_test(two_failures_of_one_group_are_one_group),
        cmocka_unit_test(what_is_asked_for_counts_nothing),
        cmocka_unit_test(starts_are_counted_and_paced),
        cmocka_unit_test(a_child_on_trial_is_kept_once_it_was_ready),
        cmocka_unit_test(starts_and_stops_of_a_graph_are_topological),
        cmocka_unit_test(a_child_that_requires_one_that_nobody_called_calls_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

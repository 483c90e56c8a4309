/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a life that is over, deferred starts, ends with a deadline, and children that come
 * while their supervisor goes. */
#include "tests/unit/host-supervise/stage.h"

static const struct rapahub_supervisor_options plain = {0};

static void is_stale(int r)
{
    assert_int_equal(r, RAPAHUB_ESTALE);
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_ESTALE);
    assert_string_equal(rapahub_last_error()->rule, "supervise.incarnation");
    assert_string_equal(rapahub_last_error()->text, "x: this life has ended");
    rapahub_clear_error();
}

static void what_is_told_of_a_life_that_is_over_changes_nothing(void **state)
{
    const struct host_ending ending = {.class = RAPAHUB_EXIT_CLEAN};
    struct host_machine *machine;
    struct stage stage;
    uint64_t over, now, out = 77;
    uint32_t x;

    (void)state;
    begin(&stage);
    machine = &stage.machine;
    now = stage.now;
    x = add(&stage, add_group(&stage, HOST_TREE_NONE, "", plain), "x", often);
    over = child(&stage, x)->incarnation;
    die(&stage, x);
    assert_int_not_equal(child(&stage, x)->incarnation, over);
    is_stale(host_supervisor_attached(machine, x, over));
    is_stale(host_supervisor_ready(machine, x, over, now));
    is_stale(host_supervisor_replaced(machine, x, over, now, &out));
    is_stale(host_supervisor_degraded(machine, x, over));
    is_stale(host_supervisor_leaving(machine, x, over));
    is_stale(host_supervisor_exited(machine, x, over, &ending, now));
    is_stale(host_supervisor_deferred(machine, x, over, now + HUB_SECOND, now));
    assert_int_equal(out, 77);
    stage.log[0] = '\0';
    carry_out(&stage);
    assert_string_equal(stage.log, "");
    assert_int_equal(child(&stage, x)->state, HOST_CHILD_READY);
    end(&stage);
}

static void a_start_that_is_put_off_is_no_failure(void **state)
{
    struct stage stage;
    uint32_t x;

    (void)state;
    begin(&stage);
    stage.idle = true;
    x = add(&stage, add_group(&stage, HOST_TREE_NONE, "", plain), "x",
            (struct rapahub_supervision){.restarts_max = 1});
    assert_string_equal(stage.log, "+x ");
    for (int i = 0; i < 3; i++) { /* oftener than it may fail */
        stage.log[0] = '\0';
        assert_int_equal(host_supervisor_deferred(&stage.machine, x, child(&stage, x)->incarnation,
                                                  stage.now + 5 * HUB_SECOND, stage.now),
                         0);
        carry_out(&stage);
        assert_int_equal(child(&stage, x)->ended, RAPAHUB_EXIT_SPAWN);
        assert_int_equal(host_supervisor_due(&stage.machine, stage.now),
                         stage.now + 5 * HUB_SECOND);
        pass(&stage, 5 * HUB_SECOND - 1);
        assert_string_equal(stage.log, "");
        pass(&stage, 1);
        assert_string_equal(stage.log, "+x ");
    }
    end(&stage);
}

static void who_is_not_up_is_not_replaced(void **state)
{
    struct stage stage;
    uint64_t out = 0, before;
    uint32_t x;

    (void)state;
    begin(&stage);
    stage.idle = true;
    x = add(&stage, add_group(&stage, HOST_TREE_NONE, "", plain), "x", often);
    before = child(&stage, x)->incarnation;
    assert_int_equal(host_supervisor_replaced(&stage.machine, x, before, stage.now, &out),
                     RAPAHUB_ESTATE);
    assert_string_equal(rapahub_last_error()->text, "x does not serve now");
    assert_int_equal(host_supervisor_attached(&stage.machine, x, before), 0);
    assert_int_equal(host_supervisor_ready(&stage.machine, x, before, stage.now), 0);
    assert_int_equal(host_supervisor_replaced(&stage.machine, x, before, stage.now, &out), 0);
    assert_int_equal(out, child(&stage, x)->incarnation);
    assert_int_not_equal(out, before);
    assert_int_equal(host_supervisor_stop(&stage.machine, x, stage.now), 0);
    assert_int_equal(host_supervisor_replaced(&stage.machine, x, out, stage.now, &out),
                     RAPAHUB_ESTATE);
    end(&stage);
}

static void an_end_has_the_earlier_of_its_deadlines(void **state)
{
    struct stage stage;
    uint32_t x;

    (void)state;
    begin(&stage);
    stage.idle = true;
    x = add(&stage, add_group(&stage, HOST_TREE_NONE, "", plain), "x", often);
    assert_int_equal(host_supervisor_stop_by(&stage.machine, x, stage.now + HUB_SECOND, stage.now),
                     0);
    assert_int_equal(child(&stage, x)->kill_ns, stage.now + HUB_SECOND);
    assert_int_equal(/* a later one does not put it off, an earlier one counts */
                     host_supervisor_stop_by(&stage.machine, x, stage.now + 2 * HUB_SECOND,
                                             stage.now),
                     0);
    assert_int_equal(child(&stage, x)->kill_ns, stage.now + HUB_SECOND);
    assert_int_equal(host_supervisor_stop_by(&stage.machine, x, stage.now + 10 * MS, stage.now), 0);
    assert_int_equal(child(&stage, x)->kill_ns, stage.now + 10 * MS);
    end(&stage);
}

static void who_serves_may_degrade_and_leave(void **state)
{
    struct host_machine *machine;
    struct stage stage;
    uint64_t life;
    uint32_t x;

    (void)state;
    begin(&stage);
    machine = &stage.machine;
    stage.idle = true;
    x = add(&stage, add_group(&stage, HOST_TREE_NONE, "", plain), "x", often);
    life = child(&stage, x)->incarnation;
    assert_int_equal(host_supervisor_degraded(machine, x, life), 0); /* not yet ready: not now */
    assert_int_equal(child(&stage, x)->state, HOST_CHILD_STARTING);
    assert_int_equal(host_supervisor_attached(machine, x, life), 0);
    assert_int_equal(host_supervisor_ready(machine, x, life, stage.now), 0);
    assert_int_equal(host_supervisor_degraded(machine, x, life), 0);
    assert_int_equal(child(&stage, x)->state, HOST_CHILD_DEGRADED);
    assert_int_equal(host_supervisor_leaving(machine, x, life), 0);
    assert_int_equal(child(&stage, x)->state, HOST_CHILD_STOPPING);
    assert_int_equal(host_supervisor_leaving(machine, x, life), 0); /* twice is once */
    assert_int_equal(child(&stage, x)->state, HOST_CHILD_STOPPING);
    end(&stage);
}

static void who_goes_takes_no_children(void **state)
{
    const struct host_tree_plan plan = {.name = "y", .parent = 1, .how = &often};
    struct host_tree_plan late = plan;
    struct stage stage;
    uint32_t group, place = 0;

    (void)state;
    begin(&stage);
    group = add_group(&stage, add_group(&stage, HOST_TREE_NONE, "", plain), "group", plain);
    (void)add(&stage, group, "x", often);
    late.parent = group;
    assert_int_equal(host_supervisor_stop(&stage.machine, group, stage.now), 0);
    assert_int_equal(host_supervisor_add(&stage.machine, &late, stage.now, &place), RAPAHUB_ESTATE);
    assert_non_null(strstr(rapahub_last_error()->text, "group"));
    assert_non_null(strstr(rapahub_last_error()->text, "it takes no children: it ends"));
    end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_of_a_life_that_is_over_changes_nothing),
        cmocka_unit_test(a_start_that_is_put_off_is_no_failure),
        cmocka_unit_test(who_is_not_up_is_not_replaced),
        cmocka_unit_test(an_end_has_the_earlier_of_its_deadlines),
        cmocka_unit_test(who_serves_may_degrade_and_leave),
        cmocka_unit_test(who_goes_takes_no_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

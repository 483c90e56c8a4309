/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an upgrade: the way to success, and from each of its places every failure. */
#include <string.h>

#include "host/upgrade/upgrade_steps.h"
#include "tests/support/testing.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* For two containers: the events of a good case, and the action for each. */
static const struct {
    enum host_upgrade_event event;
    enum host_upgrade_state next;
    enum host_upgrade_action action;
} way[] = {
    {HOST_UPGRADE_READY, HOST_UPGRADE_BEGINNING, HOST_UPGRADE_BEGIN},
    {HOST_UPGRADE_BEGUN, HOST_UPGRADE_HOLDING, HOST_UPGRADE_HOLD},
    {HOST_UPGRADE_HELD, HOST_UPGRADE_DRAINING, HOST_UPGRADE_DRAIN},
    {HOST_UPGRADE_DRAINED, HOST_UPGRADE_RELEASING, HOST_UPGRADE_RELEASE},
    {HOST_UPGRADE_RELEASED, HOST_UPGRADE_LINKING, HOST_UPGRADE_LINK},
    {HOST_UPGRADE_LINKED, HOST_UPGRADE_SAVING, HOST_UPGRADE_SAVE},
    {HOST_UPGRADE_SAVED, HOST_UPGRADE_LOADING, HOST_UPGRADE_LOAD},
    {HOST_UPGRADE_LOADED, HOST_UPGRADE_SAVING, HOST_UPGRADE_SAVE},
    {HOST_UPGRADE_SAVED, HOST_UPGRADE_LOADING, HOST_UPGRADE_LOAD},
    {HOST_UPGRADE_LOADED_ALL, HOST_UPGRADE_SWITCHING, HOST_UPGRADE_SWITCH},
    {HOST_UPGRADE_SWITCHED, HOST_UPGRADE_RETIRING, HOST_UPGRADE_RETIRE},
    {HOST_UPGRADE_GONE, HOST_UPGRADE_DONE, HOST_UPGRADE_FINISH},
};
#define SWITCH_AT 11 /* from here on nothing is taken back */

static const enum host_upgrade_event failures[] = {HOST_UPGRADE_FAILED, HOST_UPGRADE_LATE,
                                                   HOST_UPGRADE_NEW_LOST, HOST_UPGRADE_OLD_LOST};

static enum host_upgrade_state walk(size_t steps)
{
    enum host_upgrade_state state = HOST_UPGRADE_STARTING;
    struct host_upgrade_step step;

    for (size_t i = 0; i < steps; i++) {
        assert_true(host_upgrade_steps_find(state, way[i].event, &step));
        assert_int_equal(step.next, way[i].next);
        assert_int_equal(step.action, way[i].action);
        state = step.next;
    }
    return state;
}

static void all_goes_well(void **unused)
{
    (void)unused;
    assert_int_equal(walk(COUNT(way)), HOST_UPGRADE_DONE);
}

/* Goes back to the old version, with the necessary actions, in order. */
static void roll_back(enum host_upgrade_state state, enum host_upgrade_event failure)
{
    bool held = host_upgrade_steps_holds(state), lost = failure == HOST_UPGRADE_OLD_LOST;
    bool told = false, let_go = false, killed = false;
    struct host_upgrade_step step;

    assert_true(host_upgrade_steps_find(state, failure, &step));
    for (;;) {
        told = told || step.action == HOST_UPGRADE_RETURN;
        assert_true(step.action != HOST_UPGRADE_RETURN || killed);
        killed =
            killed || step.action == HOST_UPGRADE_LET_GO || step.action == HOST_UPGRADE_END_NEW;
        let_go = let_go || step.action == HOST_UPGRADE_LET_GO;
        if (host_upgrade_steps_over(step.next))
            break;
        assert_int_equal(host_upgrade_steps_holds(step.next), held && !let_go);
        assert_true(host_upgrade_steps_find(
            step.next,
            step.next == HOST_UPGRADE_RETURNING ? HOST_UPGRADE_RETURNED : HOST_UPGRADE_GONE,
            &step));
    }
    assert_int_equal(step.next, HOST_UPGRADE_REFUSED);
    assert_int_equal(step.action, HOST_UPGRADE_FINISH);
    assert_true(killed);
    assert_int_equal(let_go, held);
    assert_int_equal(told, held && !lost);
}

/* r[verify supervise.upgrade.rollback] */
static void every_failure_at_every_step_ends_where_the_old_one_serves(void **unused)
{
    (void)unused;
    for (size_t at = 0; at < SWITCH_AT; at++)
        for (size_t i = 0; i < COUNT(failures); i++)
            roll_back(walk(at), failures[i]);
}

static void behind_the_switch_nothing_is_taken_back(void **unused)
{
    struct host_upgrade_step step;

    (void)unused;
    for (size_t at = SWITCH_AT; at <= COUNT(way); at++)
        for (size_t i = 0; i < COUNT(failures); i++)
            assert_false(host_upgrade_steps_find(walk(at), failures[i], &step));
}

/* It may die before it is told, or while it is. */
static void a_roll_back_is_not_stopped_by_the_old_one_s_death(void **unused)
{
    static const enum host_upgrade_state back[] = {HOST_UPGRADE_CLEARING, HOST_UPGRADE_RETURNING};
    struct host_upgrade_step step;

    (void)unused;
    for (size_t i = 0; i < COUNT(back); i++) {
        assert_true(host_upgrade_steps_find(back[i], HOST_UPGRADE_OLD_LOST, &step));
        assert_int_equal(step.next, HOST_UPGRADE_ENDING);
        assert_int_equal(step.action, HOST_UPGRADE_LET_GO);
        assert_false(host_upgrade_steps_find(back[i], HOST_UPGRADE_NEW_LOST, &step));
    }
}

static void a_look_holds_no_calls(void **unused)
{
    struct host_upgrade_step step;

    (void)unused;
    assert_true(host_upgrade_steps_find(HOST_UPGRADE_STARTING, HOST_UPGRADE_MATCHES, &step));
    assert_int_equal(step.action, HOST_UPGRADE_END_NEW);
    assert_false(host_upgrade_steps_holds(step.next));
    assert_true(host_upgrade_steps_find(step.next, HOST_UPGRADE_GONE, &step));
    assert_int_equal(step.next, HOST_UPGRADE_DONE);
}

/* An answer that was on its way when the step failed changes nothing. */
static void what_comes_late_changes_nothing(void **unused)
{
    static const enum host_upgrade_state ended[] = {HOST_UPGRADE_ENDING, HOST_UPGRADE_DISMISSING,
                                                    HOST_UPGRADE_RETIRING};
    struct host_upgrade_step step;

    (void)unused;
    for (int event = 0; event < HOST_UPGRADE_EVENTS; event++) {
        for (size_t i = 0; i < COUNT(ended); i++)
            assert_int_equal(
                host_upgrade_steps_find(ended[i], (enum host_upgrade_event)event, &step),
                event == HOST_UPGRADE_GONE);
        assert_false(
            host_upgrade_steps_find(HOST_UPGRADE_DONE, (enum host_upgrade_event)event, &step));
        assert_false(
            host_upgrade_steps_find(HOST_UPGRADE_REFUSED, (enum host_upgrade_event)event, &step));
    }
}

/* r[verify supervise.upgrade.steps] Only from a loaded state do calls go over. */
static void there_is_one_way_to_the_switch(void **unused)
{
    struct host_upgrade_step step;
    int ways = 0;

    (void)unused;
    for (int state = 0; state < HOST_UPGRADE_STATES; state++)
        for (int event = 0; event < HOST_UPGRADE_EVENTS; event++)
            ways += host_upgrade_steps_find((enum host_upgrade_state)state,
                                            (enum host_upgrade_event)event, &step) &&
                    step.action == HOST_UPGRADE_SWITCH;
    assert_int_equal(ways, 1);
}

static void each_step_that_may_fail_has_a_word(void **unused)
{
    (void)unused;
    for (int state = 0; state < HOST_UPGRADE_STATES; state++)
        assert_int_equal(strlen(host_upgrade_steps_word((enum host_upgrade_state)state)) > 0,
                         host_upgrade_steps_undecided((enum host_upgrade_state)state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_goes_well),
        cmocka_unit_test(every_failure_at_every_step_ends_where_the_old_one_serves),
        cmocka_unit_test(behind_the_switch_nothing_is_taken_back),
        cmocka_unit_test(a_roll_back_is_not_stopped_by_the_old_one_s_death),
        cmocka_unit_test(a_look_holds_no_calls),
        cmocka_unit_test(what_comes_late_changes_nothing),
        cmocka_unit_test(there_is_one_way_to_the_switch),
        cmocka_unit_test(each_step_that_may_fail_has_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Requested starts, where a start was due, is refused, or came after a fall. */
#include "tests/unit/host-supervise/stage.h"

static const struct rapahub_supervision slow = {.backoff_first = true,
                                                .backoff_initial_ns = 20 * HUB_SECOND,
                                                .backoff_max_ns = 60 * HUB_SECOND,
                                                .period_ns = RAPAHUB_FOREVER};

static void a_start_does_not_wait_for_the_delay_that_runs(void **state)
{
    struct stage stage;
    uint32_t root, x;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    x = add(&stage, root, "x", slow);
    die(&stage, x);
    assert_string_equal(stage.log, "");
    pass(&stage, HUB_SECOND);
    assert_string_equal(stage.log, "");
    assert_int_equal(host_supervisor_start(&stage.machine, x, stage.now), 0);
    carry_out(&stage);
    assert_string_equal(stage.log, "+x ");
    die(&stage, x); /* and the delays begin anew */
    assert_in_range(child(&stage, x)->due_ns - stage.now, 1, 20 * HUB_SECOND);
    end(&stage);
}

static void who_is_being_closed_is_not_started(void **state)
{
    struct stage stage;
    uint32_t root, x;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    x = add(&stage, root, "x", often);
    assert_int_equal(host_supervisor_close(&stage.machine, x, stage.now), 0);
    assert_int_not_equal(child(&stage, x)->state, HOST_CHILD_CLOSED); /* not carried out yet */
    assert_int_equal(host_supervisor_start(&stage.machine, x, stage.now), RAPAHUB_ECLOSED);
    assert_non_null(strstr(rapahub_last_error()->text, "it was closed"));
    carry_out(&stage);
    assert_string_equal(stage.log, "+x -x ");
    end(&stage);
}

/* r[verify supervise.exhausted] */
static void a_supervisor_that_fell_once_is_stopped_like_any_other(void **state)
{
    const struct rapahub_supervision once = {.restarts_max = 1,
                                             .on_exhausted = RAPAHUB_EXHAUSTED_ESCALATE,
                                             .backoff_initial_ns = RAPAHUB_NONE};
    struct stage stage;
    uint32_t root, leaf;

    (void)state;
    begin(&stage);
    root = add_group(&stage, HOST_TREE_NONE, "", (struct rapahub_supervisor_options){0});
    leaf = add(&stage, root, "x", once);
    die(&stage, leaf);
    die(&stage, leaf);
    assert_int_equal(child(&stage, root)->state, HOST_CHILD_FAILED);
    assert_int_equal(host_supervisor_reset(&stage.machine, leaf, stage.now), 0);
    carry_out(&stage);
    assert_int_equal(child(&stage, root)->state, HOST_CHILD_READY);
    stage.log[0] = '\0';
    assert_int_equal(host_supervisor_stop(&stage.machine, root, stage.now), 0);
    carry_out(&stage);
    assert_string_equal(stage.log, "-x ");
    assert_int_equal(child(&stage, root)->state, HOST_CHILD_STOPPED);
    assert_int_equal(child(&stage, root)->ended, RAPAHUB_EXIT_CLEAN); /* no signal, as the first */
    pass(&stage, HUB_SECOND);
    assert_string_equal(stage.log, "-x ");
    end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_does_not_wait_for_the_delay_that_runs),
        cmocka_unit_test(who_is_being_closed_is_not_started),
        cmocka_unit_test(a_supervisor_that_fell_once_is_stopped_like_any_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

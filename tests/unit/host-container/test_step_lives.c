/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that fail, or that come too late for the life that they were for: the container goes on. */
#include <rapahub/error.h>

#include "tests/unit/host-container/step_ends.h"

/* Its death was not noticed when the step began. A container that stayed plugged would have no
 * calls in its next life. r[verify cluster.step] */
static void a_plug_that_cannot_be_asked_leaves_the_container_open(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0);

    (void)state;
    hub_link_close(ends.answering->stage->life.connection.link, RAPAHUB_EDIED, "");
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    turn_until(&ends, 1);
    assert_true(ends.codes[0] < 0);
    assert_int_equal(ends.answering->count, 0);
    assert_false(ends.answering->stage->container->plugged);
    assert_int_equal(ends.answering->stage->container->state, HOST_CONTAINER_READY);
    close_ends(&ends);
}

static void a_plug_that_fails_leaves_plugged_what_another_one_has_plugged(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0);

    (void)state;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    turn_until(&ends, 1);
    ends.answering->refuses = HUB_LIFECYCLE_PLUG;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[0], 0);
    assert_int_equal(ends.codes[1], RAPAHUB_EAPPLICATION);
    assert_int_equal(ends.answering->stage->container->state, HOST_CONTAINER_PLUGGED);
    close_ends(&ends);
}

/* Its guest died before it could be asked, and the container has begun again.
 * r[verify cluster.step] */
static void a_step_of_one_life_leaves_the_next_one_alone(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0);
    struct host_container *container = ends.answering->stage->container;

    (void)state;
    container->token = 71;
    step.token = 70;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &step), 0);
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[0], RAPAHUB_ESTALE);
    assert_int_equal(ends.codes[1], RAPAHUB_ESTALE);
    assert_int_equal(ends.answering->count, 0);
    assert_int_equal(container->state, HOST_CONTAINER_READY);
    step.token = 71;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    turn_until(&ends, 3);
    assert_int_equal(ends.codes[2], 0);
    close_ends(&ends);
}

static int no_piece(void *user, void *data, size_t size)
{
    (void)user, (void)data, (void)size;
    fail_msg("a state moves");
    return RAPAHUB_ESTATE;
}

/* r[verify cluster.step.state] */
static void the_state_of_another_life_does_not_move(void **state)
{
    static const struct rapahub_pieces pieces = {no_piece, NULL};
    const struct rapahub_container_options options = {.id = answering_id, .pool_name = "test"};
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0);

    (void)state;
    ends.answering->stage->container->token = 71;
    step.token = 70;
    assert_int_equal(rapahub_host_begin_async(handle(&ends), &step, (struct rapahub_guest_id){0},
                                              &options, RAPAHUB_BEGIN_INIT),
                     RAPAHUB_EINVAL);
    step.state = &pieces;
    assert_int_equal(rapahub_host_save_changes_async(handle(&ends), &step), 0);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_ESTALE);
    assert_int_equal(ends.answering->count, 0);
    close_ends(&ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plug_that_cannot_be_asked_leaves_the_container_open),
        cmocka_unit_test(a_plug_that_fails_leaves_plugged_what_another_one_has_plugged),
        cmocka_unit_test(a_step_of_one_life_leaves_the_next_one_alone),
        cmocka_unit_test(the_state_of_another_life_does_not_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_copies.h"
#include "tests/unit/cluster-node/containers_stage.h"

#define COPY 9 /* the id of the effect */

static void copy(void)
{
    const struct cluster_effect effect = {.id = COPY,
                                          .pool = CONTAINERS_POOL,
                                          .token = CONTAINERS_TOKEN,
                                          .number = 1,
                                          .at_ns = hub_clock_after(60 * HUB_SECOND),
                                          .how = CLUSTER_COPY_WHOLE};

    cluster_container_copies_begin(&containers_stage.rows, &effect);
}

static uint64_t step(uint64_t now_ns)
{
    return cluster_container_copies_step(&containers_stage.rows, now_ns);
}

/* A copy fails, and so does the unplug after it. */
static struct cluster_container_row *fail_to_unplug(void)
{
    struct cluster_container_row *row = containers_serve();

    copy();
    containers_end_step(HOST_PLUG, 0);
    containers_end_step(HOST_SAVE, RAPAHUB_ENOMEM);
    containers_end_step(HOST_UNPLUG, RAPAHUB_ETIMEDOUT);
    return row;
}

/* r[verify cluster.node.copies] */
static void an_unplug_that_fails_is_tried_again(void **state)
{
    struct cluster_container_row *row = fail_to_unplug();
    uint64_t next_ns = step(0);

    (void)state;
    containers_told_nothing();
    assert_false(containers_stage.asked.open);
    assert_true(next_ns < HUB_NEVER && row->plugged);
    containers_stage.refuses = RAPAHUB_ENOMEM;
    (void)step(next_ns);
    containers_told_nothing();
    next_ns = step(0);
    assert_true(next_ns < HUB_NEVER);
    assert_true(step(next_ns) == HUB_NEVER);
    containers_end_step(HOST_UNPLUG, 0);
    assert_false(row->plugged);
    containers_told(CLUSTER_EVENT_COPIED, COPY, RAPAHUB_ENOMEM);
    assert_true(step(HUB_NEVER) == HUB_NEVER);
}

/* r[verify cluster.node.copies] */
static void it_is_not_tried_again_after_a_death(void **state)
{
    struct cluster_container_row *row = fail_to_unplug();

    (void)state;
    cluster_container_rows_move(row, CLUSTER_CONTAINER_STEP_DOWN);
    assert_true(step(0) == HUB_NEVER);
    containers_told(CLUSTER_EVENT_COPIED, COPY, RAPAHUB_ENOMEM);
    assert_true(row->plugged); /* the next life is unplugged */
    assert_null(row->copying);
}

/* r[verify cluster.node.copies] */
static void a_plug_that_is_late_is_taken_back(void **state)
{
    const struct cluster_container_row *row = containers_serve();

    (void)state;
    copy();
    containers_end_step(HOST_PLUG, RAPAHUB_ETIMEDOUT);
    containers_end_step(HOST_UNPLUG, 0);
    containers_told(CLUSTER_EVENT_COPIED, COPY, RAPAHUB_ETIMEDOUT);
    assert_false(row->plugged);
}

/* Its memory is not leaked. */
static void a_node_may_end_before_it_is_unplugged(void **state)
{
    (void)state;
    (void)fail_to_unplug();
}

/* r[verify cluster.node.lost] */
static void the_end_of_a_copy_is_not_lost_in_silence(void **state)
{
    (void)state;
    (void)containers_serve();
    copy();
    containers_stage.no_memory = true;
    containers_end_step(HOST_PLUG, RAPAHUB_EDIED);
    containers_lost();
}

/* r[verify cluster.node.lost] */
static void nor_is_the_refusal_of_one(void **state)
{
    (void)state;
    containers_stage.no_memory = true;
    copy(); /* nothing of that container is there */
    containers_lost();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_unplug_that_fails_is_tried_again, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(it_is_not_tried_again_after_a_death, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(a_plug_that_is_late_is_taken_back, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(the_end_of_a_copy_is_not_lost_in_silence, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(nor_is_the_refusal_of_one, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(a_node_may_end_before_it_is_unplugged, containers_open,
                                        containers_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

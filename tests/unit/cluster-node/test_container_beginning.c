/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cluster-node/containers_stage.h"

static void a_container_begins(void **state)
{
    (void)state;
    (void)containers_serve();
}

/* r[verify cluster.node.left] */
static void one_that_was_left_is_removed_first(void **state)
{
    struct cluster_container_row *row = containers_begin(CONTAINERS_BEGIN);

    (void)state;
    row->plugged = true; /* an earlier life was */
    containers_end_step(HOST_BEGIN, RAPAHUB_EEXIST);
    assert_int_equal(containers_stage.asked.step.token, 0);
    containers_end_step(HOST_REMOVE, 0);
    containers_end_step(HOST_BEGIN, 0);
    containers_told(CLUSTER_EVENT_BEGUN, CONTAINERS_BEGIN, 0);
    assert_int_equal(row->state, CLUSTER_CONTAINER_STEP_UP);
    assert_int_equal(containers_stage.rows.steps, 0);
}

/* r[verify cluster.node.left] */
static void it_begins_with_the_first_copy_all_the_same(void **state)
{
    const struct cluster_container_row *row = containers_begin(CONTAINERS_BEGIN);
    struct cluster_disk_copies *copies = &containers_row()->load.copies;
    char piece[8];

    (void)state;
    containers_end_step(HOST_BEGIN, RAPAHUB_EDIED);
    containers_told(CLUSTER_EVENT_BEGUN, CONTAINERS_BEGIN, RAPAHUB_EDIED);
    copies->of = calloc(1, sizeof *copies->of);
    copies->count = 1;
    copies->of[0].state = (struct rapahub_bytes){strdup("whole"), 5};
    (void)containers_begin(CONTAINERS_BEGIN + 1);
    assert_non_null(containers_stage.asked.step.state);
    containers_end_step(HOST_BEGIN, RAPAHUB_EEXIST);
    containers_end_step(HOST_REMOVE, 0);
    assert_non_null(containers_stage.asked.step.state);
    assert_int_equal(
        containers_stage.asked.pieces.piece(containers_stage.asked.pieces.user, piece, 8), 5);
    assert_memory_equal(piece, "whole", 5);
    containers_end_step(HOST_BEGIN, 0);
    assert_int_equal(row->state, CLUSTER_CONTAINER_STEP_UP);
}

/* The host may refuse the begin at once. r[verify cluster.node.left] */
static void a_refusal_at_once_is_the_same(void **state)
{
    (void)state;
    containers_stage.refuses = RAPAHUB_EEXIST;
    (void)containers_begin(CONTAINERS_BEGIN);
    containers_end_step(HOST_REMOVE, 0);
    containers_end_step(HOST_BEGIN, 0);
    containers_told(CLUSTER_EVENT_BEGUN, CONTAINERS_BEGIN, 0);
}

/* r[verify cluster.node.left] */
static void one_that_cannot_be_removed_ends_the_begin(void **state)
{
    struct cluster_container_row *row = containers_begin(CONTAINERS_BEGIN);

    (void)state;
    containers_end_step(HOST_BEGIN, RAPAHUB_EEXIST);
    containers_end_step(HOST_REMOVE, RAPAHUB_ETIMEDOUT);
    containers_told(CLUSTER_EVENT_BEGUN, CONTAINERS_BEGIN, RAPAHUB_ETIMEDOUT);
    assert_int_equal(row->state, CLUSTER_CONTAINER_STEP_DOWN);
    (void)containers_begin(CONTAINERS_BEGIN + 1);
    containers_end_step(HOST_BEGIN, RAPAHUB_EEXIST);
    containers_stage.refuses = RAPAHUB_ENOMEM;
    containers_end_step(HOST_REMOVE, 0);
    containers_told(CLUSTER_EVENT_BEGUN, CONTAINERS_BEGIN + 1, RAPAHUB_ENOMEM);
    assert_int_equal(containers_stage.rows.steps, 0);
}

/* r[verify cluster.node.lost] */
static void the_end_of_a_begin_is_not_lost_in_silence(void **state)
{
    (void)state;
    (void)containers_begin(CONTAINERS_BEGIN);
    containers_stage.no_memory = true;
    containers_end_step(HOST_BEGIN, 0);
    containers_lost();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_container_begins, containers_open, containers_close),
        cmocka_unit_test_setup_teardown(one_that_was_left_is_removed_first, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(it_begins_with_the_first_copy_all_the_same, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(a_refusal_at_once_is_the_same, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_removed_ends_the_begin, containers_open,
                                        containers_close),
        cmocka_unit_test_setup_teardown(the_end_of_a_begin_is_not_lost_in_silence, containers_open,
                                        containers_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

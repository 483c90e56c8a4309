/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/container_removal.h"
#include "tests/unit/cluster-node/containers_stage.h"

#define REMOVE 11 /* the id of the effect */

/* The disk's part of a removal. */
int __wrap_cluster_store_thread_folder_aside(struct cluster_store_thread *disk,
                                             struct cluster_disk_container of,
                                             cluster_disk_on_done *on_done, void *user);
int __wrap_cluster_store_thread_folder_aside(struct cluster_store_thread *disk,
                                             struct cluster_disk_container of,
                                             cluster_disk_on_done *on_done, void *user)
{
    (void)disk;
    (void)of;
    (void)on_done;
    (void)user;
    return rapahub_fail(RAPAHUB_ECLOSED, "", "there is no disk");
}

static void remove_container(void)
{
    const struct cluster_effect effect = {.id = REMOVE, .pool = CONTAINERS_POOL};

    cluster_container_removal_begin(&containers_stage.rows, &effect);
}

static void a_container_ends_then_its_guest_then_its_files(void **state)
{
    (void)state;
    (void)containers_serve();
    remove_container();
    containers_end_step(HOST_REMOVE, 0);
    containers_told_nothing();
    cluster_container_removal_step(&containers_stage.rows);
    containers_told(CLUSTER_EVENT_REMOVED, REMOVE, RAPAHUB_ECLOSED);
    assert_int_equal(containers_stage.guest.users, 1);
}

/* The program of the node may close it. r[verify cluster.node.removed] */
static void a_guest_may_be_closed_while_its_container_ends(void **state)
{
    struct cluster_container_row *row = containers_serve();

    (void)state;
    remove_container();
    cluster_container_removal_closed(row);
    containers_told_nothing();
    containers_end_step(HOST_REMOVE, RAPAHUB_EDIED);
    cluster_container_removal_step(&containers_stage.rows);
    containers_told(CLUSTER_EVENT_REMOVED, REMOVE, RAPAHUB_ECLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_container_ends_then_its_guest_then_its_files,
                                        containers_open, containers_close),
        cmocka_unit_test_setup_teardown(a_guest_may_be_closed_while_its_container_ends,
                                        containers_open, containers_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A data folder becomes that of a node which has joined a cluster. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/disk/data_folder.h"
#include "hub/base/random.h"
#include "tests/store/disk.h"
#include "tests/store/folder_stage.h"
#include "tests/support/testing.h"
#include "tests/unit/cluster-node/data_folder_stage.h"

/* ---- on a disk that tears ---- */

static int load(struct disk *disk, struct cluster_data_folder *folder)
{
    int r;

    *folder = (struct cluster_data_folder){.lock = -1, .root = disk_root(disk)};
    folder->root.path = strdup("disk");
    r = cluster_data_folder_load(folder);
    if (r == 0)
        r = cluster_data_folder_count_boot(folder);
    return r;
}

static void leave(struct cluster_data_folder *folder)
{
    folder->root.fd = 0;
    cluster_data_folder_close(folder);
}

struct crash {
    struct disk *disk;
    struct hub_random random;
    size_t images;
    unsigned empty; /* images of a folder that was left as it was */
};

static int join(struct disk *disk)
{
    static const uint8_t uuid[CLUSTER_DATA_FOLDER_UUID] = "the node's own.";
    struct cluster_data_folder folder = {
        .lock = -1, .root = disk_root(disk), .store = {"the cluster's. ", 9}};
    int r;

    folder.root.path = strdup("disk");
    r = cluster_data_folder_join(
        &folder, &(struct cluster_data_folder_joined){7, uuid, "seat:192.0.2.7:9413"});
    leave(&folder);
    return r;
}

static void expect_joined(const struct cluster_data_folder *folder)
{
    assert_int_equal(folder->node, 7);
    assert_true(folder->place.joined);
    assert_string_equal(folder->place.url, "seat:192.0.2.7:9413");
    assert_int_equal(folder->store.revision, 9);
    assert_memory_equal(folder->store.uuid, "the cluster's. ", 16);
    assert_true(folder->boot >= 2); /* to join was the first life */
}

/* After a crash at any step of a join the folder is empty, the new node's, or to be joined with
 * again. It is never that of a node that runs alone. */
static void look_at_join(void *user)
{
    struct crash *crash = user;

    for (int i = 0; i < 3; i++) {
        struct disk *after =
            disk_after(crash->disk, i == 0 ? DISK_KILLED : DISK_TORN, &crash->random);
        struct cluster_data_folder folder;
        int r = load(after, &folder);

        if (r == 0 && folder.node != 1)
            expect_joined(&folder);
        crash->empty += r == 0 && folder.node == 1 ? 1 : 0;
        leave(&folder);
        if (r != 0) {
            assert_int_equal(r, RAPAHUB_EFORMAT);
            assert_non_null(strstr(rapahub_last_error()->text, "rapahub node join again"));
            assert_int_equal(join(after), 0);
            assert_int_equal(load(after, &folder), 0);
            expect_joined(&folder);
            leave(&folder);
        }
        disk_free(after);
        crash->images++;
    }
}

/* r[verify cluster.join.folder] */
static void a_join_that_was_cut_short_is_begun_anew(void **state)
{
    struct crash crash = {.disk = disk_new()};
    struct cluster_data_folder folder;

    (void)state;
    hub_random_init(&crash.random, 11);
    crash.disk->step = look_at_join;
    crash.disk->user = &crash;
    assert_int_equal(join(crash.disk), 0);
    assert_int_equal(load(crash.disk, &folder), 0);
    expect_joined(&folder);
    leave(&folder);
    print_message("crash images of a join: %zu, of which %u as it was\n", crash.images,
                  crash.empty);
    assert_true(crash.images > 60 && crash.empty < crash.images / 4);
    disk_free(crash.disk);
}

/* r[verify cluster.join.folder] */
static void only_an_empty_folder_joins(void **state)
{
    const struct folder_stage *stage = *state;
    const struct cluster_data_folder_options joins = {
        .path = stage->path, .lock_fd = -1, .joins = true};
    struct cluster_data_folder folder, other;

    assert_int_equal(cluster_data_folder_open(&folder, &joins), 0);
    assert_int_equal(cluster_data_folder_open(&other, &joins), RAPAHUB_EBUSY);
    assert_false(folder_stage_has(stage, "node.id"));
    cluster_data_folder_close(&folder);
    folder_stage_write(stage, "node.seat", "192.0.2.7:9413\n", 15);
    assert_refused(stage, RAPAHUB_EFORMAT, "a join was not finished");
    assert_int_equal(cluster_data_folder_open(&folder, &joins), 0);
    cluster_data_folder_close(&folder);
    folder_stage_write(stage, "meta.db", "x", 1);
    assert_int_equal(cluster_data_folder_open(&folder, &joins), RAPAHUB_EFORMAT);
    folder_stage_clear(stage->path);
    set_up(stage);
    assert_int_equal(cluster_data_folder_open(&folder, &joins), RAPAHUB_EEXIST);
    folder_stage_write(stage, "node.seat", "\n", 1);
    assert_refused(stage, RAPAHUB_EFORMAT, "node.seat: it has no address");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_that_was_cut_short_is_begun_anew),
        TEST(only_an_empty_folder_joins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

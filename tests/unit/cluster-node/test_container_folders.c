/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/node/disk/container_folders.h"
#include "tests/store/folder_stage.h"
#include "tests/support/testing.h"

#define POOL (UINT64_C(256) << 32)
#define DAY  CLUSTER_CONTAINER_FOLDERS_KEPT_S
#define NOW  UINT64_C(1800000000)

struct stage {
    struct folder_stage folder;
    struct cluster_files_folder pools;
    struct cluster_container_folders folders;
};

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    folder_stage_begin(&stage->folder);
    assert_int_equal(cluster_files_open_folder(&cluster_files_system, NULL, stage->folder.path,
                                               true, &stage->pools),
                     0);
    stage->folders.pools = &stage->pools;
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    cluster_files_close_folder(&stage->pools);
    folder_stage_end(&stage->folder);
    free(stage);
    return 0;
}

static void path_of(struct stage *stage, uint32_t container, const char *name, char to[256])
{
    char path[CLUSTER_CONTAINER_FOLDERS_PATH];

    cluster_container_folders_path(POOL, container, path);
    snprintf(to, 256, "%s/%s/%s", stage->folder.path, path, name);
}

static void make(struct stage *stage, uint32_t container)
{
    assert_int_equal(cluster_container_folders_make(&stage->folders, POOL, container), 0);
}

static void put_aside(struct stage *stage, uint32_t container, uint64_t wall_s)
{
    assert_int_equal(cluster_container_folders_put_aside(&stage->folders, POOL, container, wall_s),
                     0);
}

/* Folders that are aside; they may have any names. */
static unsigned aside(struct stage *stage)
{
    char path[256];
    unsigned count = 0;
    DIR *stream;

    snprintf(path, sizeof path, "%s/aside", stage->folder.path);
    stream = opendir(path);
    while (stream && readdir(stream))
        count++;
    if (stream)
        closedir(stream);
    return stream ? count - 2 : 0;
}

static void sweep_all(struct stage *stage, uint64_t wall_s)
{
    int r, rounds = 0;

    do
        r = cluster_container_folders_sweep(&stage->pools, wall_s, 7);
    while (r == 1 && ++rounds < 10000);
    assert_int_equal(r, 0);
}

/* r[verify cluster.folders.aside] */
static void a_folder_is_made_and_put_aside(void **state)
{
    struct stage *stage = *state;
    char path[256];
    struct stat found;

    assert_int_equal(cluster_container_folders_sweep(&stage->pools, NOW, 7), 0);
    put_aside(stage, 3, NOW); /* there is none */
    make(stage, 3);
    make(stage, 3);
    path_of(stage, 3, "", path);
    assert_non_null(strstr(path, "/0000010000000000/00000003/"));
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
    put_aside(stage, 3, NOW);
    assert_int_equal(stat(path, &found), -1);
    assert_int_equal(aside(stage), 1);
    make(stage, 3);
    put_aside(stage, 3, NOW); /* twice in a second */
    put_aside(stage, 3, NOW);
    assert_int_equal(aside(stage), 2);
}

static bool has_pool(struct stage *stage)
{
    char path[256];

    snprintf(path, sizeof path, "%s/0000010000000000", stage->folder.path);
    return access(path, F_OK) == 0;
}

/* r[verify cluster.folders.aside] */
static void an_empty_folder_of_a_pool_is_removed(void **state)
{
    struct stage *stage = *state;

    make(stage, 3);
    make(stage, 4);
    put_aside(stage, 3, NOW);
    sweep_all(stage, NOW);
    assert_true(has_pool(stage)); /* 4 is in it */
    put_aside(stage, 4, NOW);
    assert_true(has_pool(stage));
    sweep_all(stage, NOW);
    assert_false(has_pool(stage));
    assert_int_equal(aside(stage), 2);
    make(stage, 3);
    assert_true(has_pool(stage));
}

static void it_is_kept_for_a_day(void **state)
{
    struct stage *stage = *state;

    make(stage, 1);
    put_aside(stage, 1, NOW);
    sweep_all(stage, NOW);
    sweep_all(stage, NOW - 2 * DAY); /* the clock was set back */
    sweep_all(stage, NOW + DAY - 1);
    assert_int_equal(aside(stage), 1);
    sweep_all(stage, NOW + DAY);
    assert_int_equal(aside(stage), 0);
}

/* Guests write what they like. */
static void a_hostile_tree_is_removed_and_nothing_else(void **state)
{
    struct stage *stage = *state;
    char path[256], victim[256];
    int depth = 0;

    snprintf(path, sizeof path, "%s/precious", stage->folder.path);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(victim, sizeof victim, "%s/precious/file", stage->folder.path);
    close(open(victim, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    make(stage, 1);
    path_of(stage, 1, "link", path);
    assert_int_equal(symlink("../../precious", path), 0);
    path_of(stage, 1, "absolute", path);
    assert_int_equal(symlink(victim, path), 0);
    path_of(stage, 1, "pipe", path);
    assert_int_equal(mkfifo(path, 0), 0);
    path_of(stage, 1, "closed", path);
    assert_int_equal(mkdir(path, 0700), 0);
    path_of(stage, 1, "closed/inner", path);
    assert_int_equal(mkdir(path, 0), 0);
    path_of(stage, 1, "closed", path);
    assert_int_equal(chmod(path, 0), 0);
    path_of(stage, 1, "", path);
    assert_int_equal(chdir(path), 0);
    for (; depth < 3000; depth++) /* deeper than any path may be long */
        if (mkdir("d", 0700) < 0 || chdir("d") < 0)
            break;
    assert_int_equal(depth, 3000);
    assert_int_equal(chdir("/"), 0);
    put_aside(stage, 1, NOW);
    sweep_all(stage, NOW + DAY);
    assert_int_equal(aside(stage), 0);
    assert_int_equal(access(victim, F_OK), 0);
}

static void a_sweep_is_done_in_parts(void **state)
{
    struct stage *stage = *state;
    char path[256], name[32];

    make(stage, 1);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "file%d", i);
        path_of(stage, 1, name, path);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    put_aside(stage, 1, NOW);
    assert_int_equal(cluster_container_folders_sweep(&stage->pools, NOW + DAY, 8), 1);
    assert_int_equal(cluster_container_folders_sweep(&stage->pools, NOW + DAY, 8), 1);
    assert_int_equal(cluster_container_folders_sweep(&stage->pools, NOW + DAY, 8), 0);
    assert_int_equal(aside(stage), 0);
}

static unsigned syncs;

static int count_sync(const struct cluster_files *files, int fd)
{
    (void)files;
    syncs++;
    return cluster_files_system.sync_folder(&cluster_files_system, fd);
}

/* The folder of all pools is synced for the first container of a pool, and for one that comes after
 * its folder may have been removed. */
static void a_name_that_is_durable_is_not_synced_again(void **state)
{
    struct stage *stage = *state;
    struct cluster_files counted = cluster_files_system;
    unsigned first, second;

    counted.sync_folder = count_sync;
    stage->pools.files = &counted;
    syncs = 0;
    make(stage, 1);
    put_aside(stage, 1, NOW);
    first = syncs;
    make(stage, 2);
    put_aside(stage, 2, NOW);
    second = syncs - first;
    assert_int_equal(first, 5);
    assert_int_equal(second, 3);
    sweep_all(stage, NOW);
    assert_false(has_pool(stage));
    syncs = 0;
    make(stage, 3);
    assert_int_equal(syncs, 2);
    stage->pools.files = &cluster_files_system;
}

static void other_names_are_left(void **state)
{
    struct stage *stage = *state;
    const char *names[] = {"notes", "0000010000000000.00000001.1",
                           "0000010000000000.00000001.1.0000000000000001.x",
                           "0000010000000000.00000001.x.0000000000000001"};
    char path[256];

    make(stage, 1);
    make(stage, 2);
    put_aside(stage, 1, NOW);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/aside/%s", stage->folder.path, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/aside/0000010000000000.00000001.1.0000000000000001",
             stage->folder.path);
    assert_int_equal(symlink("../0000010000000000", path), 0); /* by hand */
    sweep_all(stage, NOW + DAY);
    assert_int_equal(aside(stage), 4);
    snprintf(path, sizeof path, "%s/0000010000000000/00000002", stage->folder.path);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_made_and_put_aside), TEST(an_empty_folder_of_a_pool_is_removed),
        TEST(it_is_kept_for_a_day),           TEST(a_hostile_tree_is_removed_and_nothing_else),
        TEST(a_sweep_is_done_in_parts),       TEST(a_name_that_is_durable_is_not_synced_again),
        TEST(other_names_are_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

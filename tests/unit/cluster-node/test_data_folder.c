/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/disk/data_folder.h"
#include "cluster/node/disk/folder_lock.h"
#include "hub/base/crc32c.h"
#include "hub/base/own.h"
#include "tests/store/disk.h"
#include "tests/store/folder_stage.h"
#include "tests/support/testing.h"
#include "tests/unit/cluster-node/data_folder_stage.h"

/* r[verify cluster.folder.setup] */
static void a_folder_that_is_not_there_is_set_up(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_data_folder folder, again;
    struct stat found;

    assert_int_equal(open_folder(stage, &folder), 0);
    assert_int_equal(folder.node, 1);
    assert_int_equal(folder.boot, 0);
    assert_int_equal(cluster_data_folder_count_boot(&folder), 0);
    assert_int_equal(folder.boot, 1);
    assert_int_equal(stat(stage->path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
    assert_true(folder.inode == found.st_ino && folder.device == found.st_dev);
    assert_true(folder_stage_has(stage, "copies") && folder_stage_has(stage, "restart"));
    again = folder;
    cluster_data_folder_close(&folder);

    assert_int_equal(open_folder(stage, &folder), 0);
    assert_memory_equal(folder.uuid, again.uuid, sizeof folder.uuid);
    assert_int_equal(folder.boot, 1);
    cluster_data_folder_close(&folder);
    cluster_data_folder_close(&folder); /* all zeros, but for the lock */
}

static void it_remembers_its_store(void **state)
{
    const struct folder_stage *stage = *state;
    const struct cluster_data_folder_store store = {.uuid = "0123456789abcde", .revision = 77};
    struct cluster_data_folder folder;

    set_up(stage);
    assert_int_equal(open_folder(stage, &folder), 0);
    assert_int_equal(folder.store.revision, 0);
    assert_int_equal(cluster_data_folder_note_store(&folder, &store), 0);
    cluster_data_folder_close(&folder);
    assert_int_equal(open_folder(stage, &folder), 0);
    assert_int_equal(folder.store.revision, 77);
    assert_memory_equal(folder.store.uuid, store.uuid, sizeof store.uuid);
    cluster_data_folder_close(&folder);
}

static void a_folder_of_something_else_is_left_as_it_is(void **state)
{
    const struct folder_stage *stage = *state;

    assert_int_equal(mkdir(stage->path, 0755), 0);
    folder_stage_write(stage, "thesis.tex", "x", 1);
    assert_refused(stage, RAPAHUB_EFORMAT, "'thesis.tex'");
    assert_false(folder_stage_has(stage, "lock"));
    assert_false(folder_stage_has(stage, "node.id"));
}

static void others_are_kept_out_of_an_empty_folder(void **state)
{
    const struct folder_stage *stage = *state;
    struct stat found;

    assert_int_equal(mkdir(stage->path, 0755), 0);
    assert_int_equal(mkdir(stage->path, 0755), -1);
    set_up(stage);
    assert_int_equal(stat(stage->path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0700);
}

static void parts_that_are_missing_or_damaged_are_named(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_data_folder folder;
    char kept[256];
    size_t size;

    set_up(stage);
    size = folder_stage_read(stage, "node.id", kept, sizeof kept);
    folder_stage_remove(stage, "node.id");
    assert_refused(stage, RAPAHUB_EFORMAT, "node.id: it is missing");
    for (size_t at = 0; at < size; at++) {
        folder_stage_write(stage, "node.id", kept, size);
        folder_stage_flip(stage, "node.id", at);
        assert_refused(stage, RAPAHUB_EFORMAT, "node.id: it is damaged");
        folder_stage_write(stage, "node.id", kept, at);
        assert_refused(stage, RAPAHUB_EFORMAT, "node.id: it is damaged");
    }
    folder_stage_write(stage, "node.id", kept, size);
    assert_int_equal(open_folder(stage, &folder), 0);
    assert_int_equal(
        cluster_data_folder_note_store(&folder, &(struct cluster_data_folder_store){.revision = 5}),
        0);
    cluster_data_folder_close(&folder);
    folder_stage_remove(stage, "node.boot");
    assert_refused(stage, RAPAHUB_EFORMAT, "node.boot: it is missing");
    folder_stage_write(stage, "node.boot", kept, size);
    assert_refused(stage, RAPAHUB_EFORMAT, "node.boot: it is damaged");
}

static void the_life_of_another_node_is_refused(void **state)
{
    const struct folder_stage *stage = *state;
    char kept[256];
    size_t size;

    set_up(stage);
    size = folder_stage_read(stage, "node.boot", kept, sizeof kept);
    folder_stage_clear(stage->path);
    set_up(stage);
    folder_stage_write(stage, "node.boot", kept, size);
    assert_refused(stage, RAPAHUB_EFORMAT, "node.boot: it is another node's");
}

/* r[verify cluster.folder.note] */
static void a_later_release_is_said(void **state)
{
    const struct folder_stage *stage = *state;
    char text[256], later[256];
    size_t size;
    int at;

    set_up(stage);
    size = folder_stage_read(stage, "node.id", text, sizeof text - 1);
    text[size] = 0;
    assert_non_null(strstr(text, "rapahub node.id 1\nuuid "));
    at = snprintf(later, sizeof later, "rapahub node.id 2\nanything\n");
    snprintf(later + at, sizeof later - (size_t)at, "checksum %08x\n",
             hub_crc32c(0, later, (size_t)at));
    folder_stage_write(stage, "node.id", later, strlen(later));
    assert_refused(stage, RAPAHUB_EABI, "node.id: version 2, this release reads 1");
    later[20] ^= 1;
    folder_stage_write(stage, "node.id", later, strlen(later));
    assert_refused(stage, RAPAHUB_EFORMAT, "damaged");
    memset(later, 'x', sizeof later);
    folder_stage_write(stage, "node.id", later, sizeof later);
    assert_refused(stage, RAPAHUB_EFORMAT, "damaged");
}

/* r[verify cluster.folder.lock] */
static void a_locked_folder_names_the_process(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_data_folder first;
    char pid[32];

    assert_int_equal(open_folder(stage, &first), 0);
    snprintf(pid, sizeof pid, "process %d runs", (int)getpid());
    assert_refused(stage, RAPAHUB_EBUSY, pid);
    folder_stage_write(stage, "lock", "9999999999999999999999", 22);
    assert_refused(stage, RAPAHUB_EBUSY, "another process");
    folder_stage_write(stage, "lock", "-1\n", 3);
    assert_refused(stage, RAPAHUB_EBUSY, "another process");
    cluster_data_folder_close(&first);
    set_up(stage);
}

static void a_lock_that_is_no_file_is_refused(void **state)
{
    const struct folder_stage *stage = *state;
    char path[256];

    set_up(stage);
    snprintf(path, sizeof path, "%s/lock", stage->path);
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_refused(stage, -ELOOP, "lock");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(stage, RAPAHUB_ESTATE, "it is no file");
}

/* The daemon's descriptor ends, the warden's keeps the lock. */
static void a_warden_hands_its_lock_over(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_data_folder folder;
    OWN(hub_fd) int root = -1;
    OWN(hub_fd) int lock = -1;
    OWN(hub_fd) int other = -1;

    set_up(stage);
    root = open(stage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    lock = cluster_folder_lock_take(root, stage->path, -1);
    assert_true(lock >= 0);
    assert_refused(stage, RAPAHUB_EBUSY, "process");
    assert_int_equal(
        cluster_data_folder_open(
            &folder, &(struct cluster_data_folder_options){.path = stage->path, .lock_fd = lock}),
        0);
    cluster_data_folder_close(&folder);
    assert_refused(stage, RAPAHUB_EBUSY, "process");
    other = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(
        cluster_data_folder_open(
            &folder, &(struct cluster_data_folder_options){.path = stage->path, .lock_fd = other}),
        RAPAHUB_ESTATE);
    assert_int_equal(
        cluster_data_folder_open(
            &folder, &(struct cluster_data_folder_options){.path = stage->path, .lock_fd = 999}),
        -EBADF);
}

struct race {
    const struct folder_stage *stage;
    pthread_barrier_t barrier;
    unsigned inside, most, times;
};

static void *race(void *user)
{
    struct race *race = user;

    for (int i = 0; i < 300; i++) {
        struct cluster_data_folder folder;

        if (open_folder(race->stage, &folder) != 0)
            continue;
        __atomic_add_fetch(&race->times, 1, __ATOMIC_SEQ_CST);
        if (__atomic_add_fetch(&race->inside, 1, __ATOMIC_SEQ_CST) > 1)
            race->most = 2;
        __atomic_sub_fetch(&race->inside, 1, __ATOMIC_SEQ_CST);
        cluster_data_folder_close(&folder);
    }
    return NULL;
}

static void a_race_for_a_new_folder_has_one_winner_at_a_time(void **state)
{
    struct race all = {.stage = *state};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, &all), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(all.most, 0);
    assert_true(all.times >= 4);
}

static void a_folder_that_cannot_be_written_says_so(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_data_folder folder;
    char path[256];

    assert_int_equal(
        cluster_data_folder_open(
            &folder, &(struct cluster_data_folder_options){.path = "/proc/nothing", .lock_fd = -1}),
        -ENOENT);
    snprintf(path, sizeof path, "%s/a/b", stage->path);
    assert_int_equal(
        cluster_data_folder_open(
            &folder, &(struct cluster_data_folder_options){.path = path, .lock_fd = -1}),
        -ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "make it, or name another"));
    folder_stage_clear(stage->path);
    if (geteuid() == 0) { /* a folder of the system is another user's to nobody */
        assert_int_equal(mkdir(stage->path, 0700), 0);
        assert_int_equal(chown(stage->path, 12345, 12345), 0);
        assert_refused(stage, RAPAHUB_EACCES, "user 12345");
    }
}

/* ---- the layout on a disk that tears ---- */

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
    uint8_t uuid[CLUSTER_DATA_FOLDER_UUID];
    uint32_t least; /* a life that was told of */
};

/* After a crash at any step the folder is set up, and a life that was begun is counted. */
static void look(void *user)
{
    struct crash *crash = user;

    for (int i = 0; i < 3; i++) {
        struct disk *after =
            disk_after(crash->disk, i == 0 ? DISK_KILLED : DISK_TORN, &crash->random);
        struct cluster_data_folder folder;
        int r = load(after, &folder);

        if (r != 0)
            fail_msg("image %zu: %s", crash->images, rapahub_last_error()->text);
        assert_true(folder.boot > crash->least);
        if (crash->least > 0)
            assert_memory_equal(folder.uuid, crash->uuid, sizeof crash->uuid);
        leave(&folder);
        disk_free(after);
        crash->images++;
    }
}

static void a_crash_at_any_step_repeats(void **state)
{
    struct crash crash = {.disk = disk_new()};

    (void)state;
    hub_random_init(&crash.random, 7);
    crash.disk->step = look;
    crash.disk->user = &crash;
    for (uint32_t life = 1; life <= 3; life++) {
        struct cluster_data_folder folder;

        assert_int_equal(load(crash.disk, &folder), 0);
        assert_int_equal(folder.boot, life);
        memcpy(crash.uuid, folder.uuid, sizeof crash.uuid);
        crash.least = life;
        look(&crash);
        leave(&folder);
    }
    print_message("crash images of a data folder: %zu\n", crash.images);
    assert_true(crash.images > 500);
    disk_free(crash.disk);
}

static void a_disk_that_fails_is_told(void **state)
{
    (void)state;
    for (uint64_t at = 1;; at++) {
        struct disk *disk = disk_new();
        struct cluster_data_folder folder;
        bool fired;
        int r;

        disk->fail_at = at;
        disk->fail_code = at % 2 == 0 ? -ENOSPC : -EIO;
        r = load(disk, &folder);
        leave(&folder);
        fired = disk->fired;
        if (fired && r == 0) /* only what is mended by the next start may fail unsaid */
            fail_msg("failure %lu was not told", (unsigned long)at);
        disk->fail_at = 0;
        assert_int_equal(load(disk, &folder), 0);
        leave(&folder);
        disk_free(disk);
        if (!fired)
            break;
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_that_is_not_there_is_set_up),
        TEST(it_remembers_its_store),
        TEST(a_folder_of_something_else_is_left_as_it_is),
        TEST(others_are_kept_out_of_an_empty_folder),
        TEST(parts_that_are_missing_or_damaged_are_named),
        TEST(the_life_of_another_node_is_refused),
        TEST(a_later_release_is_said),
        TEST(a_locked_folder_names_the_process),
        TEST(a_lock_that_is_no_file_is_refused),
        TEST(a_warden_hands_its_lock_over),
        TEST(a_race_for_a_new_folder_has_one_winner_at_a_time),
        TEST(a_folder_that_cannot_be_written_says_so),
        cmocka_unit_test(a_crash_at_any_step_repeats),
        cmocka_unit_test(a_disk_that_fails_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/store/blobs.h"
#include "tests/store/disk.h"
#include "tests/support/testing.h"

#define SIZE 3000

struct stage {
    struct disk *disk;
    struct cluster_files_folder root;
    struct cluster_blobs blobs;
    uint8_t bytes[SIZE], digest[CLUSTER_DIGEST_SIZE];
};

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct cluster_digest digest;
    struct hub_random random;

    hub_random_init(&random, 4);
    for (size_t i = 0; i < SIZE; i++)
        stage->bytes[i] = (uint8_t)hub_random_next(&random);
    assert_int_equal(cluster_digest_begin(&digest), 0);
    cluster_digest_add(&digest, stage->bytes, SIZE);
    cluster_digest_end(&digest, stage->digest);
    stage->disk = disk_new();
    stage->root = disk_root(stage->disk);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    assert_int_equal(cluster_blobs_open(&stage->blobs, &stage->root), 0);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    cluster_blobs_close(&stage->blobs);
    disk_free(stage->disk);
    free(stage);
    return 0;
}

/* Pushes the bytes in pieces. */
static int push(struct stage *stage, struct cluster_blobs *blobs)
{
    struct cluster_blobs_push push;
    int r = cluster_blobs_begin(blobs, stage->digest, SIZE, &push);

    if (r != 0)
        return r;
    for (size_t at = 0; at < SIZE && r == 0; at += 700)
        r = cluster_blobs_add(&push, stage->bytes + at, SIZE - at < 700 ? SIZE - at : 700);
    if (r == 0)
        return cluster_blobs_finish(&push);
    cluster_blobs_abandon(&push);
    return r;
}

/* 1: it is there, whole; 0: it is not there; else it is wrong. */
static int has(struct stage *stage, const struct cluster_blobs *blobs)
{
    const struct cluster_files *files = blobs->folder.files;
    uint8_t found[SIZE + 1];
    int fd = cluster_blobs_get(blobs, stage->digest);

    if (fd < 0)
        return fd == RAPAHUB_ENOENT ? 0 : fd;
    if (cluster_files_read(files, fd, found, sizeof found, 0) != SIZE ||
        memcmp(found, stage->bytes, SIZE) != 0)
        return -EILSEQ;
    files->close(files, fd);
    return 1;
}

static size_t pushes_left(struct stage *stage)
{
    return disk_count(stage->disk, stage->blobs.folder.fd, "push.");
}

/* r[verify cluster.blobs.name] */
static void a_blob_is_read_as_it_was_pushed(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(has(stage, &stage->blobs), 0);
    assert_int_equal(push(stage, &stage->blobs), 0);
    assert_int_equal(has(stage, &stage->blobs), 1);
    assert_int_equal(pushes_left(stage), 0);
    assert_int_equal(cluster_blobs_remove(&stage->blobs, stage->digest), 0);
    assert_int_equal(has(stage, &stage->blobs), 0);
    assert_int_equal(cluster_blobs_remove(&stage->blobs, stage->digest), 0);
}

static void blobs_that_nothing_needs_are_removed(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files_folder *all = &stage->blobs.folder;
    uint8_t kept[2 * CLUSTER_DIGEST_SIZE] = {0}; /* the second one is that of the blob */
    int fd;

    assert_int_equal(push(stage, &stage->blobs), 0);
    memcpy(kept + CLUSTER_DIGEST_SIZE, stage->digest, CLUSTER_DIGEST_SIZE);
    assert_int_equal(cluster_blobs_remove_others(&stage->blobs, kept, 2), 0);
    assert_int_equal(has(stage, &stage->blobs), 1);
    fd = all->files->open(all->files, all->fd, "notes", O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    all->files->close(all->files, fd);
    kept[CLUSTER_DIGEST_SIZE] ^= 1; /* another one */
    assert_int_equal(cluster_blobs_remove_others(&stage->blobs, kept, 2), 0);
    assert_int_equal(has(stage, &stage->blobs), 0);
    assert_int_equal(cluster_blobs_remove_others(&stage->blobs, NULL, 0), 0);
    assert_int_equal(disk_count(stage->disk, all->fd, "notes"), 1);
}

/* r[verify cluster.blobs.once] */
static void a_blob_that_is_there_is_not_written_again(void **state)
{
    struct stage *stage = *state;
    size_t files;

    assert_int_equal(push(stage, &stage->blobs), 0);
    files = stage->disk->files_count;
    assert_int_equal(push(stage, &stage->blobs), 1);
    assert_int_equal(stage->disk->files_count, files);
    assert_int_equal(has(stage, &stage->blobs), 1);
}

/* r[verify cluster.blobs.once] */
static void two_pushes_of_one_blob_are_both_good(void **state)
{
    struct stage *stage = *state;
    struct cluster_blobs_push first, second;

    assert_int_equal(cluster_blobs_begin(&stage->blobs, stage->digest, SIZE, &first), 0);
    assert_int_equal(cluster_blobs_begin(&stage->blobs, stage->digest, SIZE, &second), 0);
    assert_int_equal(cluster_blobs_add(&first, stage->bytes, SIZE), 0);
    assert_int_equal(cluster_blobs_add(&second, stage->bytes, SIZE), 0);
    assert_int_equal(cluster_blobs_finish(&first), 0);
    assert_int_equal(cluster_blobs_finish(&second), 0);
    assert_int_equal(has(stage, &stage->blobs), 1);
    assert_int_equal(pushes_left(stage), 0);
}

/* r[verify cluster.blobs.once] */
static void a_damaged_blob_is_put_aside_for_a_whole_one(void **state)
{
    struct stage *stage = *state;
    char folder[3], name[65];
    size_t size;
    int fd;

    assert_int_equal(push(stage, &stage->blobs), 0);
    for (size_t i = 0; i < 32; i++)
        snprintf(name + 2 * i, 3, "%02x", stage->digest[i]);
    snprintf(folder, sizeof folder, "%.2s", name);
    fd = stage->disk->files.open_folder(&stage->disk->files, stage->blobs.folder.fd, folder);
    assert_true(fd > 0);
    disk_bytes(stage->disk, fd, name, &size)[SIZE - 1] ^= 1;
    assert_int_equal(push(stage, &stage->blobs), 0);
    assert_int_equal(has(stage, &stage->blobs), 1);
    assert_int_equal(disk_count(stage->disk, fd, ".bad"), 1);
}

/* r[verify cluster.blobs.name] */
static void other_bytes_than_the_name_says_are_refused(void **state)
{
    struct stage *stage = *state;
    struct cluster_blobs_push push;

    stage->bytes[5] ^= 1;
    assert_int_equal(cluster_blobs_begin(&stage->blobs, stage->digest, SIZE, &push), 0);
    assert_int_equal(cluster_blobs_add(&push, stage->bytes, SIZE), 0);
    assert_int_equal(cluster_blobs_add(&push, stage->bytes, 1), RAPAHUB_EFBIG);
    assert_int_equal(cluster_blobs_finish(&push), RAPAHUB_EFORMAT);
    assert_string_equal(rapahub_last_error()->rule, "cluster.blobs.name");
    assert_int_equal(has(stage, &stage->blobs), 0);
    stage->bytes[5] ^= 1;
    assert_int_equal(cluster_blobs_begin(&stage->blobs, stage->digest, SIZE + 1, &push), 0);
    assert_int_equal(cluster_blobs_add(&push, stage->bytes, SIZE), 0);
    assert_int_equal(cluster_blobs_finish(&push), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_blobs_begin(&stage->blobs, stage->digest, 0, &push), RAPAHUB_EINVAL);
    assert_int_equal(
        cluster_blobs_begin(&stage->blobs, stage->digest, CLUSTER_BLOBS_SIZE_MAX + 1, &push),
        RAPAHUB_EFBIG);
    assert_int_equal(pushes_left(stage), 0);
}

/* r[verify cluster.blobs.name] */
static void a_push_that_was_cut_short_is_removed(void **state)
{
    struct stage *stage = *state;
    struct cluster_blobs_push push;

    assert_int_equal(cluster_blobs_begin(&stage->blobs, stage->digest, SIZE, &push), 0);
    assert_int_equal(cluster_blobs_add(&push, stage->bytes, 10), 0);
    cluster_digest_end(&push.hash, NULL);
    assert_int_equal(pushes_left(stage), 1);
    cluster_blobs_close(&stage->blobs);
    assert_int_equal(cluster_blobs_open(&stage->blobs, &stage->root), 0);
    assert_int_equal(pushes_left(stage), 0);
    assert_int_equal(cluster_blobs_begin(&stage->blobs, stage->digest, SIZE, &push), 0);
    cluster_blobs_abandon(&push);
    cluster_blobs_abandon(&push);
    assert_int_equal(pushes_left(stage), 0);
}

/* ---- crashes and failures ---- */

struct crash {
    struct stage *stage;
    struct hub_random random;
    bool done, gone; /* told as pushed, as removed */
    unsigned images, there;
};

static void look(struct crash *crash, enum disk_crash kind)
{
    struct disk *image = disk_after(crash->stage->disk, kind, &crash->random);
    struct cluster_files_folder root = disk_root(image);
    struct cluster_blobs blobs;
    int found;

    assert_int_equal(cluster_blobs_open(&blobs, &root), 0);
    found = has(crash->stage, &blobs);
    assert_true(found == 0 || found == 1);
    if (crash->done)
        assert_int_equal(found, 1);
    assert_int_equal(disk_count(image, blobs.folder.fd, "push."), 0);
    assert_int_equal(push(crash->stage, &blobs), found);
    assert_int_equal(has(crash->stage, &blobs), 1);
    crash->images++;
    crash->there += found == 1;
    cluster_blobs_close(&blobs);
    disk_free(image);
}

static void step(void *user)
{
    struct crash *crash = user;

    if (hub_random_below(&crash->random, 20) == 0)
        look(crash, DISK_KILLED);
    if (hub_random_below(&crash->random, 20) == 0 || crash->stage->disk->pending_count > 0)
        look(crash, DISK_TORN);
}

/* r[verify cluster.blobs.name] */
static void no_crash_makes_another_blob(void **state)
{
    struct crash crash = {.stage = *state};
    struct disk *disk = crash.stage->disk;

    hub_random_init(&crash.random, 6);
    disk->step = step;
    disk->user = &crash;
    assert_int_equal(push(crash.stage, &crash.stage->blobs), 0);
    crash.done = true;
    for (int i = 0; i < 100; i++)
        look(&crash, DISK_TORN);
    crash.done = false;
    assert_int_equal(cluster_blobs_remove(&crash.stage->blobs, crash.stage->digest), 0);
    disk->step = NULL;
    print_message("%u images, in %u the blob\n", crash.images, crash.there);
    assert_true(crash.images > 200 && crash.there > 100 && crash.there < crash.images);
}

static bool fail_at(uint64_t point, int code, bool on)
{
    struct stage *stage;
    bool fired;
    void *state;
    int r;

    begin(&state);
    stage = state;
    stage->disk->calls = 0;
    stage->disk->fail_at = point;
    stage->disk->fail_code = code;
    stage->disk->fail_on = on;
    r = push(stage, &stage->blobs);
    fired = stage->disk->fired;
    assert_true(r == 0 || r == code);
    assert_true(fired || r == 0);
    stage->disk->fail_at = 0;
    assert_true(has(stage, &stage->blobs) >= (r == 0));
    assert_true(push(stage, &stage->blobs) >= 0);
    assert_int_equal(has(stage, &stage->blobs), 1);
    end(&state);
    return fired;
}

/* r[verify cluster.blobs.name] */
static void a_disk_that_fails_refuses_a_push(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        uint64_t point = 1;

        while (fail_at(point, i % 2 ? -EIO : -ENOSPC, i / 2))
            point++;
        assert_true(point > 10);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_blob_is_read_as_it_was_pushed),
        TEST(blobs_that_nothing_needs_are_removed),
        TEST(a_blob_that_is_there_is_not_written_again),
        TEST(two_pushes_of_one_blob_are_both_good),
        TEST(a_damaged_blob_is_put_aside_for_a_whole_one),
        TEST(other_bytes_than_the_name_says_are_refused),
        TEST(a_push_that_was_cut_short_is_removed),
        TEST(no_crash_makes_another_blob),
        cmocka_unit_test(a_disk_that_fails_refuses_a_push),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/crc32c.h"
#include "tests/store/log_stage.h"
#include "tests/support/testing.h"

struct stage {
    struct disk *disk;
    struct cluster_segments log;
    struct log_story story;
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
    struct hub_random random;

    hub_random_init(&random, 9);
    log_stage_make(&stage->story, &random);
    stage->disk = disk_new();
    stage->log = log_stage_on(stage->disk, 1);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    disk_free(stage->disk);
    free(stage);
    return 0;
}

static void has(struct stage *stage, int number)
{
    struct log_found found = log_stage_read(stage->disk);

    assert_false(found.bad_snapshot);
    assert_true(log_stage_has(&stage->story, &found, number));
    assert_int_equal(found.replay.revision, stage->story.records[number].revision);
}

/* r[verify cluster.wal.snapshot] */
static void a_snapshot_is_read_as_it_was_written(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, 20), 0);
    has(stage, 20);
    assert_int_equal(stage->disk->pending_count, 0);
    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, 40), 0);
    has(stage, 40);
    assert_int_equal(disk_count(stage->disk, 0, "domain_table"), 1);
}

/* r[verify cluster.wal.snapshot] */
static void a_snapshot_that_is_given_up_leaves_no_trace(void **state)
{
    struct stage *stage = *state;
    struct cluster_snapshot snapshot;

    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, 20), 0);
    assert_int_equal(
        cluster_snapshot_begin(&snapshot, &stage->log, stage->story.records[40].revision), 0);
    cluster_snapshot_abandon(&snapshot);
    cluster_snapshot_abandon(&snapshot);
    has(stage, 20);
    assert_int_equal(disk_count(stage->disk, 0, "domain_table"), 1);
}

/* r[verify cluster.wal.snapshot] */
static void each_damage_is_found(void **state)
{
    struct stage *stage = *state;
    uint8_t *bytes;
    size_t size;

    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, 20), 0);
    bytes = disk_bytes(stage->disk, 0, CLUSTER_SEGMENTS_SNAPSHOT, &size);
    for (size_t bit = 0; bit < size * 8; bit++) {
        struct disk *image;
        struct log_found found;

        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        image = disk_after(stage->disk, DISK_KILLED, NULL);
        found = log_stage_read(image);
        assert_int_equal(found.code, 0);
        assert_true(found.bad_snapshot);
        assert_int_equal(found.replay.revision, 0);
        assert_int_equal(disk_count(image, 0, ".bad"), 1);
        disk_free(image);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    has(stage, 20);
}

/* r[verify cluster.wal.snapshot] */
static void a_snapshot_that_is_cut_or_longer_is_damaged(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    size_t size;
    int fd;

    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, 20), 0);
    disk_bytes(stage->disk, 0, CLUSTER_SEGMENTS_SNAPSHOT, &size);
    fd = files->open(files, 0, CLUSTER_SEGMENTS_SNAPSHOT, O_RDWR, 0);
    for (size_t cut = 0; cut <= size + 40; cut += cut == size - 1 ? 2 : 1) {
        struct disk *image = disk_after(stage->disk, DISK_KILLED, NULL);

        assert_int_equal(image->files.cut(&image->files, fd, cut), 0);
        assert_true(log_stage_read(image).bad_snapshot);
        disk_free(image);
    }
    has(stage, 20);
}

static int look_at_forged(struct stage *stage, size_t at, uint8_t flip)
{
    struct disk *image = disk_after(stage->disk, DISK_KILLED, NULL);
    size_t size;
    uint8_t *bytes = disk_bytes(image, 0, CLUSTER_SEGMENTS_SNAPSHOT, &size);
    struct log_found found;
    uint32_t checksum;
    uint64_t calls = image->calls;

    bytes[at] ^= flip;
    checksum = hub_crc32c(0, bytes, 60);
    memcpy(bytes + 60, &checksum, sizeof checksum);
    found = log_stage_read(image);
    assert_true(found.code == 0 || image->calls == calls); /* refused: it is left as it is */
    disk_free(image);
    return found.bad_snapshot ? 1 : found.code;
}

/* r[verify cluster.wal.snapshot] r[verify cluster.wal.owner] */
static void a_header_that_this_node_does_not_write_is_refused(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, 20), 0);
    assert_int_equal(look_at_forged(stage, 8, 3), RAPAHUB_EABI);
    assert_int_equal(look_at_forged(stage, 12, 1), RAPAHUB_EFORMAT); /* node */
    assert_int_equal(look_at_forged(stage, 31, 1), RAPAHUB_EFORMAT); /* uuid */
    assert_int_equal(look_at_forged(stage, 36, 1), 1);               /* not zero */
    assert_int_equal(look_at_forged(stage, 40, 1), 1);               /* not its records' */
    assert_int_equal(look_at_forged(stage, 48, 1), 1);               /* number of entries */
    assert_int_equal(look_at_forged(stage, 56, 1), 1);               /* not zero */
    assert_int_equal(look_at_forged(stage, 32, 0), 0);
}

static int count_entries(void *user, const struct cluster_wal_record *record)
{
    *(uint64_t *)user += record->count;
    return 0;
}

/* r[verify cluster.wal.snapshot] */
static void a_snapshot_has_as_many_entries_as_a_map(void **state)
{
    struct stage *stage = *state;
    struct cluster_delta_change entry = stage->story.changes[1][0];
    struct cluster_snapshot snapshot;
    uint64_t entries = 0, revision;

    entry.entry = (struct cluster_entry){
        .state = CLUSTER_ENTRY_ACTIVE, .owner = 1, .epoch = 1, .lineage = 0x10000};
    assert_int_equal(cluster_snapshot_begin(&snapshot, &stage->log, 77), 0);
    for (int i = 0; i < CLUSTER_SNAPSHOT_ENTRIES_MAX; i++)
        assert_int_equal(cluster_snapshot_add(&snapshot, &entry), 0);
    assert_int_equal(cluster_snapshot_add(&snapshot, &entry), RAPAHUB_EINVAL);
    assert_int_equal(cluster_snapshot_commit(&snapshot), 0);
    assert_int_equal(cluster_snapshot_read(&stage->log, count_entries, &entries, &revision), 0);
    assert_int_equal(entries, CLUSTER_SNAPSHOT_ENTRIES_MAX);
    assert_int_equal(revision, 77);
}

static void what_a_snapshot_cannot_have_is_refused(void **state)
{
    struct stage *stage = *state;
    struct cluster_delta_change gone = {.pool = UINT64_C(0x0000010000000002)};
    struct cluster_snapshot snapshot;
    uint64_t entries = 0, revision;

    assert_int_equal(cluster_snapshot_begin(&snapshot, &stage->log, 0), RAPAHUB_EINVAL);
    assert_int_equal(cluster_snapshot_begin(&snapshot, &stage->log, 5), 0);
    assert_int_equal(cluster_snapshot_add(&snapshot, &gone), RAPAHUB_EINVAL);
    assert_int_equal(cluster_snapshot_commit(&snapshot), 0); /* of an empty map */
    assert_int_equal(cluster_snapshot_read(&stage->log, count_entries, &entries, &revision), 0);
    assert_int_equal(entries, 0);
    assert_int_equal(revision, 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_snapshot_is_read_as_it_was_written),
        TEST(a_snapshot_that_is_given_up_leaves_no_trace),
        TEST(each_damage_is_found),
        TEST(a_snapshot_that_is_cut_or_longer_is_damaged),
        TEST(a_header_that_this_node_does_not_write_is_refused),
        TEST(a_snapshot_has_as_many_entries_as_a_map),
        TEST(what_a_snapshot_cannot_have_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

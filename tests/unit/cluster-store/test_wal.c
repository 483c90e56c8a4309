/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "tests/store/log_stage.h"
#include "tests/support/testing.h"

struct stage {
    struct disk *disk;
    struct cluster_segments log;
    struct log_story story;
    struct cluster_wal wal;
};

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct hub_random random;
    const struct cluster_wal_options options = {
        .log = &stage->log, .sequence = 1, .segment_size = LOG_SEGMENT_SIZE};

    hub_random_init(&random, 5);
    log_stage_make(&stage->story, &random);
    stage->disk = disk_new();
    stage->log = log_stage_on(stage->disk, 1);
    assert_int_equal(cluster_wal_begin(&stage->wal, &options), 0);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    cluster_wal_end(&stage->wal);
    disk_free(stage->disk);
    free(stage);
    return 0;
}

static int append(struct stage *stage, int number)
{
    return cluster_wal_append(&stage->wal, &stage->story.records[number],
                              stage->story.changes[number]);
}

static int read_now(struct stage *stage)
{
    struct disk *image = disk_after(stage->disk, DISK_KILLED, NULL);
    struct log_found found = log_stage_read(image);
    int number = log_stage_number(&stage->story, found.replay.revision);

    assert_true(log_stage_has(&stage->story, &found, 0));
    disk_free(image);
    return number;
}

/* r[verify cluster.wal.order] */
static void a_record_is_on_the_disk_once_it_is_synced(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(append(stage, 1), 0);
    assert_int_equal(append(stage, 2), 0);
    assert_int_equal(stage->disk->calls, 0);
    assert_int_equal(cluster_wal_synced(&stage->wal), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(cluster_wal_synced(&stage->wal), stage->story.records[2].revision);
    assert_int_equal(read_now(stage), 2);
    assert_int_equal(stage->disk->pending_count, 0);
}

/* r[verify cluster.wal.order] */
static void a_group_is_written_and_synced_once(void **state)
{
    struct stage *stage = *state;
    uint64_t calls;

    assert_int_equal(append(stage, 1), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    calls = stage->disk->calls;
    for (int i = 2; i <= 6; i++)
        assert_int_equal(append(stage, i), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(stage->disk->calls, calls + 2);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0); /* there is nothing to do */
    assert_int_equal(stage->disk->calls, calls + 2);
}

/* r[verify cluster.wal.order] */
static void a_record_that_does_not_follow_is_refused(void **state)
{
    struct stage *stage = *state;
    struct cluster_wal_record record = stage->story.records[1];

    assert_int_equal(append(stage, 2), RAPAHUB_EINVAL);
    assert_int_equal(append(stage, 1), 0);
    assert_int_equal(append(stage, 1), RAPAHUB_EINVAL);
    assert_int_equal(append(stage, 3), RAPAHUB_EINVAL);
    record = stage->story.records[2];
    record.count = CLUSTER_DELTA_CHANGES_MAX + 1;
    assert_int_equal(cluster_wal_append(&stage->wal, &record, stage->story.changes[2]),
                     RAPAHUB_EINVAL);
    record.count = 0;
    assert_int_equal(cluster_wal_append(&stage->wal, &record, stage->story.changes[2]),
                     RAPAHUB_EINVAL);
    assert_int_equal(append(stage, 2), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(read_now(stage), 2);
}

/* r[verify cluster.wal.order] */
static void a_full_segment_is_followed_by_another(void **state)
{
    struct stage *stage = *state;

    for (int i = 1; i <= LOG_RECORDS; i++)
        assert_int_equal(append(stage, i), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(read_now(stage), LOG_RECORDS);
    assert_true(disk_count(stage->disk, 0, ".bin") > 2);
    for (size_t i = 0; i < stage->disk->now_count; i++) {
        size_t size;

        assert_non_null(disk_bytes(stage->disk, 0, stage->disk->now[i].text, &size));
        assert_int_equal(size, LOG_SEGMENT_SIZE);
    }
}

/* r[verify cluster.wal.snapshot] */
static void a_snapshot_is_wanted_after_four_segments(void **state)
{
    struct stage *stage = *state;
    int i = 1;

    while (!cluster_wal_wants_snapshot(&stage->wal)) {
        assert_true(i <= LOG_RECORDS);
        assert_int_equal(append(stage, i++), 0);
        assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    }
    assert_int_equal(disk_count(stage->disk, 0, ".bin"), 5);
    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, i - 1), 0);
    cluster_wal_has_snapshot(&stage->wal);
    assert_false(cluster_wal_wants_snapshot(&stage->wal));
    assert_int_equal(disk_count(stage->disk, 0, ".bin"), 1);
    assert_int_equal(read_now(stage), i - 1);
}

/* r[verify cluster.wal.fsync] */
static void a_file_whose_sync_failed_is_left_for_a_new_one(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(append(stage, 1), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(append(stage, 2), 0);
    stage->disk->fail_at = stage->disk->calls + 2; /* the sync after the write */
    stage->disk->fail_code = -EIO;
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_true(stage->disk->fired);
    assert_false(stage->disk->misused);
    assert_int_equal(disk_count(stage->disk, 0, ".bin"), 2);
    assert_int_equal(read_now(stage), 2);
    assert_int_equal(append(stage, 3), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(disk_count(stage->disk, 0, ".bin"), 2);
    assert_int_equal(read_now(stage), 3);
}

/* r[verify cluster.wal.space] */
static void a_full_disk_is_no_reason_for_another_file(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(append(stage, 1), 0);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(append(stage, 2), 0);
    stage->disk->fail_at = stage->disk->calls + 1; /* the write */
    stage->disk->fail_code = -ENOSPC;
    assert_int_equal(cluster_wal_sync(&stage->wal), RAPAHUB_ENOSPC);
    assert_int_equal(read_now(stage), 1);
    assert_int_equal(cluster_wal_sync(&stage->wal), 0);
    assert_int_equal(disk_count(stage->disk, 0, ".bin"), 1);
    assert_int_equal(read_now(stage), 2);
}

static void a_log_with_impossible_options_is_refused(void **state)
{
    struct stage *stage = *state;
    struct cluster_wal_options options = {.log = &stage->log, .sequence = 1, .segment_size = 4095};
    struct cluster_wal wal;

    assert_int_equal(cluster_wal_begin(&wal, &options), RAPAHUB_EINVAL);
    options.segment_size = CLUSTER_SEGMENTS_SIZE + 1;
    assert_int_equal(cluster_wal_begin(&wal, &options), RAPAHUB_EINVAL);
    options.segment_size = 0;
    options.sequence = UINT64_MAX;
    assert_int_equal(cluster_wal_begin(&wal, &options), RAPAHUB_EOVERFLOW);
    options.sequence = 1;
    assert_int_equal(cluster_wal_begin(&wal, &options), 0);
    assert_int_equal(wal.segment_size, 4 << 20);
    cluster_wal_end(&wal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_is_on_the_disk_once_it_is_synced, begin, end),
        cmocka_unit_test_setup_teardown(a_group_is_written_and_synced_once, begin, end),
        cmocka_unit_test_setup_teardown(a_record_that_does_not_follow_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_full_segment_is_followed_by_another, begin, end),
        cmocka_unit_test_setup_teardown(a_snapshot_is_wanted_after_four_segments, begin, end),
        cmocka_unit_test_setup_teardown(a_file_whose_sync_failed_is_left_for_a_new_one, begin, end),
        cmocka_unit_test_setup_teardown(a_full_disk_is_no_reason_for_another_file, begin, end),
        cmocka_unit_test_setup_teardown(a_log_with_impossible_options_is_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

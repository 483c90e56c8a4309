/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/crc32c.h"
#include "tests/store/log_stage.h"
#include "tests/support/testing.h"

/* A log of all records, each synced alone, in some segments. */
struct stage {
    struct disk *disk;
    struct cluster_segments log;
    struct log_story story;
    char name[16][CLUSTER_FILES_NAME_MAX]; /* of each segment, from 1 on */
    int last[16];                          /* the number of its last record */
    int segments;
    char logged[512]; /* the last line of the log */
};

static void on_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)level;
    (void)topic;
    snprintf(((struct stage *)user)->logged, 512, "%s", text);
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct cluster_wal_options options = {
        .log = &stage->log, .sequence = 1, .segment_size = LOG_SEGMENT_SIZE};
    struct hub_random random;
    struct cluster_wal wal;

    hub_random_init(&random, 9);
    log_stage_make(&stage->story, &random);
    stage->disk = disk_new();
    stage->log = log_stage_on(stage->disk, 1);
    assert_int_equal(cluster_wal_begin(&wal, &options), 0);
    for (int i = 1; i <= LOG_RECORDS; i++) {
        assert_int_equal(
            cluster_wal_append(&wal, &stage->story.records[i], stage->story.changes[i]), 0);
        assert_int_equal(cluster_wal_sync(&wal), 0);
        stage->segments = (int)wal.sequence - 1;
        stage->last[stage->segments] = i;
        cluster_segments_name((uint64_t)stage->segments, stage->name[stage->segments]);
    }
    cluster_wal_end(&wal);
    assert_true(stage->segments >= 4);
    rapahub_log_to(on_line, stage, RAPAHUB_LOG_INFO);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_WARN);
    disk_free(stage->disk);
    free(stage);
    return 0;
}

static uint8_t *bytes_of(struct stage *stage, int segment)
{
    size_t size;
    uint8_t *bytes = disk_bytes(stage->disk, 0, stage->name[segment], &size);

    assert_non_null(bytes);
    assert_int_equal(size, LOG_SEGMENT_SIZE);
    return bytes;
}

/* Where a record of a segment begins, and where its records end: -1. */
static size_t place_of(struct stage *stage, int segment, int record)
{
    size_t at = CLUSTER_WAL_RECORD_SEGMENT;

    for (int i = stage->last[segment - 1] + 1;
         i <= stage->last[segment] && (record < 0 || i < record); i++)
        at += CLUSTER_WAL_RECORD_SIZE + stage->story.records[i].count * CLUSTER_WAL_RECORD_CHANGE;
    return at;
}

static void is_whole(struct stage *stage, int number)
{
    struct log_found found = log_stage_read(stage->disk);

    assert_true(log_stage_has(&stage->story, &found, number));
    assert_int_equal(log_stage_number(&stage->story, found.replay.revision), number);
    assert_int_equal(found.replay.end, CLUSTER_REPLAY_WHOLE);
}

static void is_cut_after(struct stage *stage, int number)
{
    struct log_found found = log_stage_read(stage->disk);

    assert_true(log_stage_has(&stage->story, &found, number));
    assert_int_equal(log_stage_number(&stage->story, found.replay.revision), number);
    assert_int_equal(found.replay.end, CLUSTER_REPLAY_CUT);
    assert_non_null(strstr(stage->logged, stage->name[stage->segments]));
    assert_non_null(strstr(stage->logged, "cut at byte"));
    is_whole(stage, number);
}

static void is_put_aside(struct stage *stage)
{
    struct log_found found = log_stage_read(stage->disk);

    assert_int_equal(found.code, 0);
    assert_int_equal(found.replay.end, CLUSTER_REPLAY_DAMAGED);
    assert_int_equal(found.replay.revision, 0);
    assert_int_equal(disk_count(stage->disk, 0, ".bin"), disk_count(stage->disk, 0, ".bin.bad"));
    assert_true(disk_count(stage->disk, 0, ".bad") > 0);
    assert_true(found.replay.sequence > (uint64_t)stage->segments);
    assert_non_null(strstr(stage->logged, "is put aside as"));
    assert_int_equal(stage->disk->pending_count, 0);
    found = log_stage_read(stage->disk);
    assert_int_equal(found.code, 0);
    assert_int_equal(found.replay.revision, 0);
    assert_true(found.replay.sequence > (uint64_t)stage->segments);
}

/* r[verify cluster.wal.order] */
static void a_log_is_replayed_in_order(void **state)
{
    struct stage *stage = *state;
    struct log_found found = log_stage_read(stage->disk);

    is_whole(stage, LOG_RECORDS);
    assert_int_equal(found.replay.records, LOG_RECORDS);
    assert_int_equal(found.replay.segments, stage->segments);
    assert_int_equal(found.replay.sequence, stage->segments + 1);
}

static void a_folder_without_a_log_is_an_empty_one(void **state)
{
    struct disk *disk = disk_new();
    struct log_found found = log_stage_read(disk);

    (void)state;
    assert_int_equal(found.code, 0);
    assert_int_equal(found.replay.end, CLUSTER_REPLAY_WHOLE);
    assert_int_equal(found.replay.revision, 0);
    assert_int_equal(found.replay.sequence, 1);
    disk_free(disk);
}

/* r[verify cluster.wal.tail] */
static void a_torn_record_at_the_end_is_cut(void **state)
{
    struct stage *stage = *state;
    size_t at = place_of(stage, stage->segments, LOG_RECORDS);

    bytes_of(stage, stage->segments)[at + 50] ^= 4;
    is_cut_after(stage, LOG_RECORDS - 1);
}

/* r[verify cluster.wal.tail] */
static void bytes_after_the_end_are_cut(void **state)
{
    struct stage *stage = *state;

    bytes_of(stage, stage->segments)[place_of(stage, stage->segments, -1) + 1] = 1;
    is_cut_after(stage, LOG_RECORDS);
}

/* r[verify cluster.wal.tail] */
static void damage_before_the_end_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;
    size_t at = place_of(stage, stage->segments, LOG_RECORDS - 1);

    bytes_of(stage, stage->segments)[at + 50] ^= 4;
    is_put_aside(stage);
}

/* r[verify cluster.wal.tail] */
static void zeros_before_the_end_put_the_log_aside(void **state)
{
    struct stage *stage = *state;
    size_t at = place_of(stage, stage->segments, LOG_RECORDS - 1),
           to = place_of(stage, stage->segments, LOG_RECORDS);

    memset(bytes_of(stage, stage->segments) + at, 0, to - at);
    is_put_aside(stage);
}

/* r[verify cluster.wal.tail] */
static void a_record_that_is_missing_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;
    size_t at = place_of(stage, stage->segments, LOG_RECORDS - 1),
           to = place_of(stage, stage->segments, LOG_RECORDS);
    uint8_t *bytes = bytes_of(stage, stage->segments);

    memmove(bytes + at, bytes + to, LOG_SEGMENT_SIZE - to);
    is_put_aside(stage);
}

/* r[verify cluster.wal.tail] */
static void damage_of_an_earlier_segment_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;
    size_t at = place_of(stage, 2, stage->last[2]); /* its last record */

    bytes_of(stage, 2)[at + 8] ^= 1;
    is_put_aside(stage);
}

/* r[verify cluster.wal.tail] */
static void damage_after_the_records_of_an_earlier_segment_does_no_harm(void **state)
{
    struct stage *stage = *state;

    bytes_of(stage, 2)[place_of(stage, 2, -1) + 1] = 1;
    is_whole(stage, LOG_RECORDS);
}

/* r[verify cluster.wal.tail] */
static void a_segment_that_is_missing_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;

    stage->disk->files.remove(&stage->disk->files, 0, stage->name[2]);
    stage->disk->files.sync_folder(&stage->disk->files, 0);
    is_put_aside(stage);
}

/* r[verify cluster.wal.tail] */
static void a_header_that_is_damaged_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;

    bytes_of(stage, stage->segments)[50] ^= 1;
    is_put_aside(stage);
}

/* r[verify cluster.wal.tail] */
static void a_file_that_no_node_writes_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    int fd = files->open(files, 0, stage->name[2], O_RDWR, 0);

    assert_true(fd > 0);
    assert_int_equal(files->allocate(files, fd, CLUSTER_SEGMENTS_SIZE + 1), 0);
    is_put_aside(stage);
}

/* A crash while a segment is made leaves a file without a header.
 * r[verify cluster.wal.tail] */
static void a_segment_that_was_not_begun_is_removed(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    char name[CLUSTER_FILES_NAME_MAX];

    for (uint64_t size = 0; size < LOG_SEGMENT_SIZE; size += 63) {
        struct log_found found;
        int fd;

        cluster_segments_name((uint64_t)stage->segments + 1, name);
        fd = files->open(files, 0, name, O_RDWR | O_CREAT | O_EXCL, 0600);
        assert_true(fd > 0);
        assert_int_equal(files->allocate(files, fd, size), 0);
        found = log_stage_read(stage->disk);
        assert_true(log_stage_has(&stage->story, &found, LOG_RECORDS));
        assert_int_equal(found.replay.segments, stage->segments);
        assert_int_equal(found.replay.end, CLUSTER_REPLAY_WHOLE);
        assert_non_null(strstr(stage->logged, "not yet begun"));
        assert_int_equal(disk_count(stage->disk, 0, name), 0);
    }
}

/* r[verify cluster.wal.owner] */
static void the_log_of_another_node_is_left_as_it_is(void **state)
{
    struct stage *stage = *state;
    uint8_t *bytes = bytes_of(stage, 1);
    uint64_t calls = stage->disk->calls;
    struct log_found found;
    uint32_t checksum;

    bytes[16] ^= 1; /* the uuid */
    checksum = hub_crc32c(0, bytes, 48);
    memcpy(bytes + 48, &checksum, 4);
    found = log_stage_read(stage->disk);
    assert_int_equal(found.code, RAPAHUB_EFORMAT);
    assert_string_equal(rapahub_last_error()->rule, "cluster.wal.owner");
    assert_non_null(strstr(rapahub_last_error()->text, stage->name[1]));
    assert_int_equal(stage->disk->calls, calls);
}

static void a_log_of_a_later_release_is_left_as_it_is(void **state)
{
    struct stage *stage = *state;
    uint8_t *bytes = bytes_of(stage, 2);
    uint64_t calls = stage->disk->calls;
    uint32_t checksum;

    bytes[8] = 2;
    checksum = hub_crc32c(0, bytes, 48);
    memcpy(bytes + 48, &checksum, 4);
    assert_int_equal(log_stage_read(stage->disk).code, RAPAHUB_EABI);
    assert_int_equal(stage->disk->calls, calls);
}

/* The process before may have been killed before it synced.
 * r[verify cluster.wal.order] */
static void what_was_replayed_is_durable(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    int fd = files->open(files, 0, stage->name[stage->segments], O_RDWR, 0);
    size_t at = place_of(stage, stage->segments, LOG_RECORDS),
           size = place_of(stage, stage->segments, -1) - at;
    struct hub_random random;
    uint8_t last[CLUSTER_WAL_RECORD_SIZE_MAX];

    assert_int_equal(files->read(files, fd, last, size, at), size);
    memset(bytes_of(stage, stage->segments) + at, 0, size);
    memset(stage->disk->file[fd]->durable + at, 0, size);
    assert_int_equal(files->write(files, fd, last, size, at), size);
    is_whole(stage, LOG_RECORDS);
    hub_random_init(&random, 3);
    for (int i = 0; i < 50; i++) {
        struct disk *image = disk_after(stage->disk, DISK_TORN, &random);
        struct log_found found = log_stage_read(image);

        assert_true(log_stage_has(&stage->story, &found, LOG_RECORDS));
        disk_free(image);
    }
}

/* r[verify cluster.wal.tail] */
static void a_segment_that_begins_with_another_record_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;
    uint8_t *bytes = bytes_of(stage, stage->segments);
    uint32_t checksum;

    bytes[40] ^= 1; /* the revision of its first record */
    checksum = hub_crc32c(0, bytes, 48);
    memcpy(bytes + 48, &checksum, 4);
    is_put_aside(stage);
}

/* A segment that was begun after it shows that the damaged record had been synced.
 * r[verify cluster.wal.tail] */
static void damage_before_a_segment_without_records_puts_the_log_aside(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    struct cluster_wal_segment header = {.node = 7, .boot = 1, .uuid = {1, 2, 3}};
    char name[CLUSTER_FILES_NAME_MAX];
    uint8_t bytes[CLUSTER_WAL_RECORD_SEGMENT];
    int fd;

    header.first = stage->story.records[LOG_RECORDS].revision + 1;
    cluster_wal_record_put_segment(&header, bytes);
    cluster_segments_name((uint64_t)stage->segments + 1, name);
    fd = files->open(files, 0, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(cluster_files_write(files, fd, bytes, sizeof bytes, 0), 0);
    is_whole(stage, LOG_RECORDS);
    bytes_of(stage, stage->segments)[place_of(stage, stage->segments, LOG_RECORDS) + 50] ^= 4;
    is_put_aside(stage);
}

struct watch {
    struct stage *stage;
    struct hub_random random;
    int images;
};

static void look_at_image(void *user)
{
    struct watch *watch = user;

    for (int kind = DISK_KILLED; kind <= DISK_TORN; kind++) {
        struct disk *image = disk_after(watch->stage->disk, (enum disk_crash)kind, &watch->random);
        struct log_found found = log_stage_read(image);

        watch->images++;
        assert_int_equal(found.code, 0);
        assert_int_equal(found.replay.revision, 0);
        disk_free(image);
    }
}

/* A map that is older than what was told must not be taken for the newest.
 * r[verify cluster.wal.tail] */
static void no_crash_while_a_log_is_put_aside_leaves_the_beginning_of_it(void **state)
{
    struct stage *stage = *state;
    struct watch watch = {.stage = stage};
    size_t at = place_of(stage, stage->segments, LOG_RECORDS - 1);

    hub_random_init(&watch.random, 8);
    bytes_of(stage, stage->segments)[at + 50] ^= 4;
    stage->disk->step = look_at_image;
    stage->disk->user = &watch;
    is_put_aside(stage);
    stage->disk->step = NULL;
    assert_true(watch.images >= 4 * stage->segments);
}

/* r[verify cluster.wal.snapshot] */
static void an_older_snapshot_leaves_the_segments_after_it(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(log_stage_snapshot(&stage->story, &stage->log, stage->last[2]), 0);
    is_whole(stage, LOG_RECORDS);
    assert_int_equal(disk_count(stage->disk, 0, ".bin"), stage->segments - 1);
}

static int refuse_the_third(void *user, const struct cluster_wal_record *record)
{
    (void)record;
    return ++*(int *)user == 3 ? -ECANCELED : 0;
}

static void the_failure_of_the_map_ends_the_reading(void **state)
{
    struct stage *stage = *state;
    struct cluster_replay replay;
    int count = 0;

    assert_int_equal(cluster_replay_run(&stage->log, 0, refuse_the_third, &count, &replay),
                     -ECANCELED);
    assert_int_equal(count, 3);
    is_whole(stage, LOG_RECORDS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_log_is_replayed_in_order),
        cmocka_unit_test(a_folder_without_a_log_is_an_empty_one),
        TEST(a_torn_record_at_the_end_is_cut),
        TEST(bytes_after_the_end_are_cut),
        TEST(damage_before_the_end_puts_the_log_aside),
        TEST(zeros_before_the_end_put_the_log_aside),
        TEST(a_record_that_is_missing_puts_the_log_aside),
        TEST(damage_of_an_earlier_segment_puts_the_log_aside),
        TEST(damage_after_the_records_of_an_earlier_segment_does_no_harm),
        TEST(a_segment_that_is_missing_puts_the_log_aside),
        TEST(a_header_that_is_damaged_puts_the_log_aside),
        TEST(a_file_that_no_node_writes_puts_the_log_aside),
        TEST(a_segment_that_was_not_begun_is_removed),
        TEST(the_log_of_another_node_is_left_as_it_is),
        TEST(a_log_of_a_later_release_is_left_as_it_is),
        TEST(what_was_replayed_is_durable),
        TEST(a_segment_that_begins_with_another_record_puts_the_log_aside),
        TEST(damage_before_a_segment_without_records_puts_the_log_aside),
        TEST(no_crash_while_a_log_is_put_aside_leaves_the_beginning_of_it),
        TEST(an_older_snapshot_leaves_the_segments_after_it),
        TEST(the_failure_of_the_map_ends_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

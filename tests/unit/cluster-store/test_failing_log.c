/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that changes the disk fails once, or fails and all after it do, while a log and its
 * snapshots are written. A record that was told as durable is there after a crash; none is told
 * that is not; a file of which a sync failed is not touched again. */
#include <errno.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "tests/store/log_stage.h"
#include "tests/support/testing.h"

#define GROUP 3

struct life {
    struct disk *disk;
    struct cluster_segments log;
    struct log_story story;
    struct cluster_wal wal;
    struct hub_random random;
    int appended, synced;
    unsigned points, refused, ended, snapshots_failed;
};

static void note_synced(struct life *life)
{
    life->synced = log_stage_number(&life->story, cluster_wal_synced(&life->wal));
}

/* Appends a record or, at the end of a group, makes all durable. Returns what failed. */
static int go_on(struct life *life)
{
    int next = life->appended + 1, r = 0;

    if (life->appended > life->synced && (next > LOG_RECORDS || next % GROUP == 0))
        r = cluster_wal_sync(&life->wal);
    if (r == 0 && next <= LOG_RECORDS) {
        r = cluster_wal_append(&life->wal, &life->story.records[next], life->story.changes[next]);
        life->appended += r == 0;
    }
    note_synced(life);
    return r;
}

static void check_after(struct life *life, enum disk_crash crash)
{
    struct disk *image = disk_after(life->disk, crash, &life->random);
    struct log_found found = log_stage_read(image);

    assert_int_equal(found.code, 0);
    assert_false(found.bad_snapshot);
    /* A group that was being written may be torn in its middle. */
    if (crash == DISK_KILLED || found.replay.end != CLUSTER_REPLAY_DAMAGED)
        assert_true(log_stage_has(&life->story, &found, life->synced));
    disk_free(image);
}

/* A full disk refuses, and what was refused is done once there is space. */
static void check_refusal(struct life *life, int r)
{
    assert_int_equal(r, -ENOSPC);
    assert_false(cluster_wal_has_ended(&life->wal));
    life->refused++;
    check_after(life, DISK_KILLED);
    check_after(life, DISK_TORN);
    life->disk->fail_at = 0;
}

static void check_end(struct life *life, int r)
{
    uint64_t calls = life->disk->calls;

    assert_int_equal(r, -EIO);
    assert_true(cluster_wal_has_ended(&life->wal));
    assert_int_equal(cluster_wal_sync(&life->wal), RAPAHUB_EIO);
    assert_int_equal(
        cluster_wal_append(&life->wal, &life->story.records[1], life->story.changes[1]),
        RAPAHUB_EIO);
    assert_string_equal(rapahub_last_error()->rule, "cluster.wal.fsync");
    assert_int_equal(life->disk->calls, calls);
    life->ended++;
}

static void run(struct life *life)
{
    const struct cluster_wal_options options = {
        .log = &life->log, .sequence = 1, .segment_size = LOG_SEGMENT_SIZE};
    int snapshot_at = 2 * GROUP;

    assert_int_equal(cluster_wal_begin(&life->wal, &options), 0);
    while (life->synced < LOG_RECORDS) {
        int r = go_on(life);

        if (r < 0 && cluster_files_is_full(r))
            check_refusal(life, r);
        else if (r < 0) {
            check_end(life, r);
            break;
        }
        if (life->synced < snapshot_at)
            continue;
        life->snapshots_failed += log_stage_snapshot(&life->story, &life->log, life->synced) < 0;
        snapshot_at += 5 * GROUP;
    }
    check_after(life, DISK_KILLED);
    check_after(life, DISK_TORN);
    cluster_wal_end(&life->wal);
}

/* Returns whether something failed. */
static bool point(struct life *life, uint64_t number, int code, bool on)
{
    bool fired;

    life->disk = disk_new();
    life->disk->short_writes = number % 2 == 0;
    life->disk->fail_at = number;
    life->disk->fail_code = code;
    life->disk->fail_on = on;
    life->log = log_stage_on(life->disk, 1);
    life->appended = life->synced = 0;
    run(life);
    assert_false(life->disk->misused);
    fired = life->disk->fired;
    life->points += fired;
    disk_free(life->disk);
    return fired;
}

static struct life *sweep(const char *what, int code, bool on)
{
    struct life *life = calloc(1, sizeof *life);
    uint64_t number = 1;

    hub_random_init(&life->random, 1);
    log_stage_make(&life->story, &life->random);
    while (point(life, number, code, on))
        number++;
    print_message("%s%s: %u points; refused %u, log ended %u, snapshots failed %u\n", what,
                  on ? ", for good" : "", life->points, life->refused, life->ended,
                  life->snapshots_failed);
    return life;
}

/* r[verify cluster.wal.space] */
static void a_full_disk_refuses_and_loses_nothing(void **state)
{
    struct life *once = sweep("no space", -ENOSPC, false), *good = sweep("no space", -ENOSPC, true);

    (void)state;
    assert_true(once->refused > 10 && good->refused >= once->refused);
    assert_int_equal(once->ended + good->ended, 0);
    free(once);
    free(good);
}

/* r[verify cluster.wal.fsync] */
static void one_error_of_the_disk_costs_a_file(void **state)
{
    struct life *life = sweep("input or output", -EIO, false);

    (void)state;
    assert_true(life->points > 50);
    assert_int_equal(life->ended + life->refused, 0);
    free(life);
}

/* r[verify cluster.wal.fsync] */
static void a_second_error_ends_the_log(void **state)
{
    struct life *life = sweep("input or output", -EIO, true);

    (void)state;
    assert_true(life->points > 50);
    assert_int_equal(life->refused, 0);
    assert_true(life->ended > life->points / 2);
    free(life);
}

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_refuses_and_loses_nothing),
        cmocka_unit_test(one_error_of_the_disk_costs_a_file),
        cmocka_unit_test(a_second_error_ends_the_log),
    };

    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

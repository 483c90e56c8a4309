/* SPDX-License-Identifier: Apache-2.0 */
/* A log with its snapshots is written while power may fail at any byte: after each byte that is
 * written, and before each other call that changes the disk, the disk is copied as the death of the
 * process or a loss of power would leave it, and read. It has all that was told as durable and a
 * part of the rest, in order, or says that it is damaged; never another map.
 *
 * The seed is printed; RAPAHUB_TEST_SEED repeats a run. RAPAHUB_TEST_IMAGES: how many copies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "tests/store/log_stage.h"
#include "tests/support/testing.h"

#define IMAGES 2766 /* a fiftieth of the long run's */

struct counts {
    uint64_t images, wrong, aside, cut, snapshots;
};

struct crash {
    struct disk *disk;
    struct log_story story;
    struct hub_random random;
    int synced, appended;    /* numbers of records */
    uint64_t every;          /* one in so many places is looked at */
    bool checked;            /* checksums are looked at */
    struct counts counts[2]; /* of enum disk_crash */
};

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* A disk that was read stays readable, and goes on: a record more is there at the next start. */
static bool goes_on(struct crash *crash, struct disk *image, const struct log_found *found)
{
    struct cluster_segments log = log_stage_on(image, 3);
    int next = log_stage_number(&crash->story, found->replay.revision) + 1;
    struct cluster_wal wal;
    struct log_found again = log_stage_read(image);
    bool good =
        log_stage_has(&crash->story, &again, next - 1) && again.replay.end == CLUSTER_REPLAY_WHOLE;

    if (next > LOG_RECORDS || !good)
        return good;
    assert_int_equal(
        cluster_wal_begin(&wal, &(struct cluster_wal_options){.log = &log,
                                                              .revision = found->replay.revision,
                                                              .sequence = found->replay.sequence,
                                                              .segment_size = LOG_SEGMENT_SIZE}),
        0);
    good = cluster_wal_append(&wal, &crash->story.records[next], crash->story.changes[next]) == 0 &&
           cluster_wal_sync(&wal) == 0;
    cluster_wal_end(&wal);
    again = log_stage_read(image);
    return good && log_stage_has(&crash->story, &again, next);
}

static bool is_aside(const struct log_found *found)
{
    return found->code == 0 && found->replay.end == CLUSTER_REPLAY_DAMAGED;
}

/* A log that was put aside is gone for the next start too. A snapshot begins it anew. */
static bool begins_anew(struct crash *crash, struct disk *image)
{
    struct cluster_segments log = log_stage_on(image, 3);
    struct log_found again = log_stage_read(image);

    if (again.code != 0 || is_aside(&again) || again.replay.revision != 0)
        return false;
    if (log_stage_snapshot(&crash->story, &log, LOG_RECORDS) != 0)
        return false;
    again = log_stage_read(image);
    return log_stage_has(&crash->story, &again, LOG_RECORDS) && !is_aside(&again);
}

static void look(struct crash *crash, enum disk_crash kind)
{
    struct counts *counts = &crash->counts[kind];
    struct disk *image = disk_after(crash->disk, kind, &crash->random);
    bool further = hub_random_below(&crash->random, 4) == 0, good;
    struct log_found found;

    if (!crash->checked)
        log_stage_mend(image);
    found = log_stage_read(image);
    if (is_aside(&found)) {
        counts->aside++;
        good = kind == DISK_TORN; /* the death of the process damages nothing */
        if (good && further && crash->checked)
            good = begins_anew(crash, image);
    } else {
        good = !found.bad_snapshot && log_stage_has(&crash->story, &found, crash->synced) &&
               log_stage_number(&crash->story, found.replay.revision) <= crash->appended;
        if (good && further && crash->checked)
            good = goes_on(crash, image, &found);
    }
    counts->cut += found.replay.end == CLUSTER_REPLAY_CUT;
    counts->wrong += !good;
    counts->images++;
    disk_free(image);
}

static void step(void *user)
{
    struct crash *crash = user;

    if (hub_random_below(&crash->random, crash->every) == 0)
        look(crash, DISK_KILLED);
    if (hub_random_below(&crash->random, crash->every) == 0)
        look(crash, DISK_TORN);
}

static void write_group(struct crash *crash, struct cluster_wal *wal)
{
    uint64_t records = 1 + hub_random_below(&crash->random, 4);

    for (; records > 0 && crash->appended < LOG_RECORDS; records--) {
        int next = crash->appended + 1;
        uint64_t synced;

        /* It may be durable before it returns. */
        crash->appended = next;
        assert_int_equal(
            cluster_wal_append(wal, &crash->story.records[next], crash->story.changes[next]), 0);
        synced = cluster_wal_synced(wal);
        crash->synced = log_stage_number(&crash->story, synced);
    }
    assert_int_equal(cluster_wal_sync(wal), 0);
    crash->synced = crash->appended;
}

/* Writes the whole story, in two lives of the process. */
static void write_log(struct crash *crash)
{
    struct cluster_segments log = log_stage_on(crash->disk, 1);
    struct cluster_wal_options options = {
        .log = &log, .sequence = 1, .segment_size = LOG_SEGMENT_SIZE};
    struct cluster_wal wal;

    assert_int_equal(cluster_wal_begin(&wal, &options), 0);
    while (crash->appended < LOG_RECORDS) {
        write_group(crash, &wal);
        if (hub_random_below(&crash->random, 8) == 0) {
            assert_int_equal(log_stage_snapshot(&crash->story, &log, crash->synced), 0);
            cluster_wal_has_snapshot(&wal);
            crash->counts[DISK_KILLED].snapshots++;
        }
        if (hub_random_below(&crash->random, 8) > 0)
            continue;
        cluster_wal_end(&wal);
        options.revision = crash->story.records[crash->synced].revision;
        options.sequence = wal.sequence;
        log.boot++;
        assert_int_equal(cluster_wal_begin(&wal, &options), 0);
    }
    cluster_wal_end(&wal);
}

static void sweep(struct crash *crash, uint64_t seed, uint64_t images)
{
    uint64_t seen = 0, rounds = 0;

    crash->every = images < 40000 ? 40000 / images + 1 : 1;
    hub_random_init(&crash->random, seed);
    for (; seen < images; rounds++) {
        crash->disk = disk_new();
        crash->disk->step = step;
        crash->disk->user = crash;
        crash->synced = crash->appended = 0;
        log_stage_make(&crash->story, &crash->random);
        write_log(crash);
        disk_free(crash->disk);
        seen = crash->counts[0].images + crash->counts[1].images;
    }
    print_message("seed %" PRIu64 ", %" PRIu64 " rounds, checksums %slooked at: %" PRIu64
                  " images, wrong %" PRIu64 ", put aside %" PRIu64 ", cut %" PRIu64
                  ", snapshots %" PRIu64 "\n",
                  seed, rounds, crash->checked ? "" : "not ", seen,
                  crash->counts[0].wrong + crash->counts[1].wrong,
                  crash->counts[0].aside + crash->counts[1].aside,
                  crash->counts[0].cut + crash->counts[1].cut, crash->counts[0].snapshots);
}

/* r[verify cluster.wal.order] r[verify cluster.wal.tail] r[verify cluster.wal.snapshot] */
static void no_crash_makes_another_map(void **state)
{
    struct crash *crash = calloc(1, sizeof *crash);
    uint64_t seed = number_of("RAPAHUB_TEST_SEED", hub_clock_wall() / 1000 % 1000000);

    (void)state;
    crash->checked = true;
    sweep(crash, seed, number_of("RAPAHUB_TEST_IMAGES", IMAGES));
    assert_int_equal(crash->counts[DISK_KILLED].wrong, 0);
    assert_int_equal(crash->counts[DISK_TORN].wrong, 0);
    assert_true(crash->counts[DISK_KILLED].cut > 0 && crash->counts[DISK_TORN].cut > 0);
    free(crash);
}

/* The same images show that the checksums are needed. */
static void without_checksums_there_would_be_wrong_maps(void **state)
{
    struct crash *crash = calloc(1, sizeof *crash);
    uint64_t seed = number_of("RAPAHUB_TEST_SEED", hub_clock_wall() / 1000 % 1000000);

    (void)state;
    sweep(crash, seed, number_of("RAPAHUB_TEST_IMAGES", IMAGES));
    assert_true(crash->counts[DISK_KILLED].wrong > 0);
    assert_true(crash->counts[DISK_TORN].wrong > 0);
    free(crash);
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
        cmocka_unit_test(no_crash_makes_another_map),
        cmocka_unit_test(without_checksums_there_would_be_wrong_maps),
    };

    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/store/log_stage.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/base/ids.h"
#include "hub/base/crc32c.h"

#define POOL UINT64_C(0x0000010000000002)

/* ---- the history ---- */

static void draw_change(struct cluster_delta_change *change, uint32_t container,
                        struct hub_random *random)
{
    uint64_t epoch = 1 + hub_random_below(random, CLUSTER_EPOCH_MAX);

    *change = (struct cluster_delta_change){.pool = POOL, .container = container};
    change->owner_before = (uint32_t)hub_random_below(random, 4);
    if (hub_random_below(random, 8) == 0)
        return; /* it is gone */
    change->entry.state = CLUSTER_ENTRY_ACTIVE;
    change->entry.owner = (uint32_t)hub_random_next(random) | 1;
    change->entry.epoch = epoch;
    change->entry.lineage = cluster_ids_lineage(1 + hub_random_below(random, epoch),
                                                (uint32_t)hub_random_below(random, 65536));
    change->entry.op = hub_random_next(random);
}

static void apply_change(struct log_map *map, const struct cluster_delta_change *change)
{
    const struct cluster_entry *entry = &change->entry;

    if (change->pool == POOL && change->container < LOG_CONTAINERS)
        map->of[change->container] =
            (struct log_entry){entry->state, entry->owner, entry->epoch, entry->lineage, entry->op};
}

void log_stage_make(struct log_story *story, struct hub_random *random)
{
    memset(story, 0, sizeof *story);
    for (int i = 1; i <= LOG_RECORDS; i++) {
        struct cluster_wal_record *record = &story->records[i];
        uint32_t first = (uint32_t)hub_random_below(random, LOG_CONTAINERS);

        record->count = 1 + (uint32_t)hub_random_below(
                                random, hub_random_below(random, 3) == 0 ? LOG_CHANGES_MAX : 2);
        record->previous = story->records[i - 1].revision;
        record->revision = record->previous + 1 + hub_random_below(random, 5);
        record->wall_ns = hub_random_next(random);
        story->maps[i] = story->maps[i - 1];
        for (uint32_t j = 0; j < record->count; j++) {
            draw_change(&story->changes[i][j], (first + j) % LOG_CONTAINERS, random);
            apply_change(&story->maps[i], &story->changes[i][j]);
        }
    }
}

int log_stage_number(const struct log_story *story, uint64_t revision)
{
    for (int i = 0; i <= LOG_RECORDS; i++)
        if (story->records[i].revision == revision)
            return i;
    return -1;
}

/* ---- on the disk ---- */

struct cluster_segments log_stage_on(struct disk *disk, uint32_t boot)
{
    return (struct cluster_segments){
        .folder = disk_root(disk), .node = 7, .boot = boot, .uuid = {1, 2, 3}};
}

static int apply_record(void *user, const struct cluster_wal_record *record)
{
    for (uint32_t i = 0; i < record->count; i++) {
        struct cluster_delta_change change = cluster_wal_record_change(record, i);

        apply_change(user, &change);
    }
    return 0;
}

struct log_found log_stage_read_of(const struct cluster_segments *log)
{
    struct log_found found = {0};
    uint64_t revision;
    int r = cluster_snapshot_read(log, apply_record, &found.map, &revision);

    found.bad_snapshot = r == 1;
    if (r >= 0)
        r = cluster_replay_run(log, revision, apply_record, &found.map, &found.replay);
    found.code = r;
    return found;
}

struct log_found log_stage_read(struct disk *disk)
{
    struct cluster_segments log = log_stage_on(disk, 2);

    return log_stage_read_of(&log);
}

bool log_stage_has(const struct log_story *story, const struct log_found *found, int least)
{
    int number = log_stage_number(story, found->replay.revision);

    return found->code == 0 && number >= least &&
           memcmp(&story->maps[number], &found->map, sizeof found->map) == 0;
}

int log_stage_snapshot(const struct log_story *story, const struct cluster_segments *log,
                       int number)
{
    struct cluster_snapshot snapshot;
    int r = cluster_snapshot_begin(&snapshot, log, story->records[number].revision);

    for (uint32_t i = 0; i < LOG_CONTAINERS && r == 0; i++) {
        const struct log_entry *of = &story->maps[number].of[i];
        struct cluster_delta_change change = {.pool = POOL, .container = i};

        change.entry = (struct cluster_entry){.state = (uint8_t)of->state,
                                              .owner = (uint32_t)of->owner,
                                              .epoch = of->epoch,
                                              .lineage = of->lineage,
                                              .op = of->op};
        if (of->state != CLUSTER_ENTRY_NONE)
            r = cluster_snapshot_add(&snapshot, &change);
    }
    if (r == 0)
        return cluster_snapshot_commit(&snapshot);
    cluster_snapshot_abandon(&snapshot);
    return r;
}

/* ---- without checksums ---- */

static void mend_header(uint8_t *at, size_t checked)
{
    uint32_t checksum = hub_crc32c(0, at, checked);

    memcpy(at + checked, &checksum, sizeof checksum);
}

static void mend_records(uint8_t *bytes, size_t size)
{
    for (size_t at = 64; at + CLUSTER_WAL_RECORD_SIZE <= size;) {
        uint32_t length, checksum;

        memcpy(&length, bytes + at, sizeof length);
        if (length == 0 || length > size - at - CLUSTER_WAL_RECORD_SIZE)
            return;
        checksum = hub_crc32c(0, bytes + at + 8, CLUSTER_WAL_RECORD_SIZE - 8 + length);
        memcpy(bytes + at + 4, &checksum, sizeof checksum);
        at += CLUSTER_WAL_RECORD_SIZE + length;
    }
}

void log_stage_mend(struct disk *disk)
{
    for (size_t i = 0; i < disk->now_count; i++) {
        bool snapshot = strstr(disk->now[i].text, "snapshot") != NULL;
        size_t size;
        uint8_t *bytes =
            disk->now[i].file < 0 ? NULL : disk_bytes(disk, 0, disk->now[i].text, &size);

        if (!bytes || size < 64)
            continue;
        mend_header(bytes, snapshot ? 60 : 48);
        mend_records(bytes, size);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* log_stage: a history of a map, record by record, the map after each of them, and the log that
 * keeps it on a disk of the test. */
#ifndef TESTS_STORE_LOG_STAGE_H
#define TESTS_STORE_LOG_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/store/replay.h"
#include "cluster/store/snapshot.h"
#include "cluster/store/wal.h"
#include "tests/store/disk.h"

#define LOG_RECORDS      128
#define LOG_CONTAINERS   12
#define LOG_SEGMENT_SIZE CLUSTER_SEGMENTS_SIZE_LEAST
#define LOG_CHANGES_MAX  12

struct log_entry { /* what the log has of an entry; state 0: none */
    uint64_t state, owner, epoch, lineage, op;
};

struct log_map {
    struct log_entry of[LOG_CONTAINERS];
};

struct log_story {
    struct cluster_wal_record records[LOG_RECORDS + 1]; /* from 1 on */
    struct cluster_delta_change changes[LOG_RECORDS + 1][LOG_CHANGES_MAX];
    struct log_map maps[LOG_RECORDS + 1]; /* after each record; 0: before the first */
};

void log_stage_make(struct log_story *story, struct hub_random *random);

/* The number of the record with this revision; 0 for revision 0, -1: there is none. */
int log_stage_number(const struct log_story *story, uint64_t revision);

/* The log of node 7 in the root of a disk. */
struct cluster_segments log_stage_on(struct disk *disk, uint32_t boot);

struct log_found {
    int code; /* of the reading */
    bool bad_snapshot;
    struct log_map map;
    struct cluster_replay replay;
};

/* Reads snapshot and log as a node does at its start. */
struct log_found log_stage_read(struct disk *disk);
struct log_found log_stage_read_of(const struct cluster_segments *log);

/* Says whether `found` is the map after one of the records from `least` on. */
bool log_stage_has(const struct log_story *story, const struct log_found *found, int least);

/* Writes and commits a snapshot of the map after record `number`. */
int log_stage_snapshot(const struct log_story *story, const struct cluster_segments *log,
                       int number);

/* Puts the checksum of each record and header right, as if it were not looked at. */
void log_stage_mend(struct disk *disk);

#endif

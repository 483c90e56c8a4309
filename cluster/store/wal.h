/* SPDX-License-Identifier: Apache-2.0 */
/* wal: the writer of a node's log of its map. Records are appended to memory, and written and made
 * durable together: a record is told as done only after cluster_wal_sync returned 0.
 *
 * A file of which a write or a sync failed is never used again, for nothing tells which of its
 * pages the disk has. The records go to a new file, once; when that fails too the log has ended,
 * and the node must stop serving. A full disk is no such failure: records wait, and the next sync
 * tries again. All of it waits for the disk: one thread, and not the owner's.
 */
#ifndef CLUSTER_STORE_WAL_H
#define CLUSTER_STORE_WAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/store/segments.h"
#include "cluster/wire/wal_record.h"

#define CLUSTER_WAL_GROUP_MAX         ((uint32_t)256 << 10) /* bytes made durable together */
#define CLUSTER_WAL_SNAPSHOT_SEGMENTS 4

struct cluster_wal_options {
    const struct cluster_segments *log; /* the caller's, while the log is open */
    uint64_t revision;                  /* the log continues the map of it; 0: an empty one */
    uint64_t sequence;                  /* its first segment's, from cluster_replay_run */
    size_t segments;                    /* that there are already, from there too */
    uint32_t segment_size;              /* 0: CLUSTER_SEGMENTS_SIZE */
};

struct cluster_wal {
    const struct cluster_segments *log;
    uint32_t segment_size;
    uint64_t sequence; /* the next segment's */
    size_t segments;   /* since the last snapshot */
    int fd;            /* the segment's; -1: none */
    char name[CLUSTER_FILES_NAME_MAX];
    uint64_t at; /* bytes of the segment that are durable */
    uint64_t appended, synced;
    uint64_t first; /* the first revision that waits */
    uint8_t *group; /* the records that wait */
    size_t size, capacity;
    bool ended;
};

/* Makes no file yet. -EINVAL: a size of segments that no record fits into. -EOVERFLOW: there is no
 * sequence number left. */
int cluster_wal_begin(struct cluster_wal *wal, const struct cluster_wal_options *options);

/* Drops the records that wait, and closes the log. */
void cluster_wal_end(struct cluster_wal *wal);

/* Adds a record, whose `previous` is the revision of the one before: -EINVAL where it is not. Where
 * there is no space left for it, in the group or in the segment, those that wait are made durable
 * first; where that fails so does this, and the record is not added. */
int cluster_wal_append(struct cluster_wal *wal, const struct cluster_wal_record *record,
                       const struct cluster_delta_change *changes);

/* Makes all records durable. -ENOSPC, -EDQUOT: there is no space for them; they wait on. Any other
 * failure has ended the log: see cluster_wal_has_ended. */
int cluster_wal_sync(struct cluster_wal *wal);

/* The revision up to which all is durable. */
uint64_t cluster_wal_synced(const struct cluster_wal *wal);

bool cluster_wal_has_ended(const struct cluster_wal *wal);

/* Says whether it is time for a snapshot: CLUSTER_WAL_SNAPSHOT_SEGMENTS are full. A snapshot has a
 * revision that is synced. After it is durable: cluster_wal_has_snapshot. */
bool cluster_wal_wants_snapshot(const struct cluster_wal *wal);
void cluster_wal_has_snapshot(struct cluster_wal *wal);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: a whole map of a node in one file, so that its log needs to be read from there on only.
 * The file has a header and records of the log, all of the snapshot's revision.
 *
 * It is written under a temporary name. Wherever writing ends, the name of the snapshot has the one
 * before or all of the new one. Segments that it makes needless are removed after it is durable,
 * never before. All of it waits for the disk: one thread.
 */
#ifndef CLUSTER_STORE_SNAPSHOT_H
#define CLUSTER_STORE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/store/segments.h"
#include "cluster/wire/wal_record.h"

#define CLUSTER_SNAPSHOT_HEADER      64
#define CLUSTER_SNAPSHOT_ENTRIES_MAX 262144

struct cluster_snapshot { /* while it is written */
    const struct cluster_segments *log;
    uint64_t revision, entries, at;
    int fd;
    struct cluster_delta_change batch[CLUSTER_DELTA_CHANGES_MAX];
    uint32_t count; /* in `batch` */
};

/* Begins one of this revision, to which the log is synced. */
int cluster_snapshot_begin(struct cluster_snapshot *snapshot, const struct cluster_segments *log,
                           uint64_t revision);

/* Adds an entry of the map, in any order. -EINVAL: it is gone, or one more than a map may have. */
int cluster_snapshot_add(struct cluster_snapshot *snapshot,
                         const struct cluster_delta_change *entry);

/* Ends it: when this returns 0 the snapshot is durable, and the segments before it are removed.
 * After a failure the log is as before, or has it all the same. */
int cluster_snapshot_commit(struct cluster_snapshot *snapshot);

/* Ends it without a trace, after a failure too. */
void cluster_snapshot_abandon(struct cluster_snapshot *snapshot);

/* Reads the snapshot: hands each record to `apply` and sets *revision, 0 where there is none. The
 * changes of its records are entries. Returns 0; 1 if it is damaged: then it is put aside, nothing
 * was handed out, and *revision is 0; or fails as cluster_replay_run. */
int cluster_snapshot_read(const struct cluster_segments *log,
                          int (*apply)(void *user, const struct cluster_wal_record *record),
                          void *user, uint64_t *revision);

#endif

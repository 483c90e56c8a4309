/* SPDX-License-Identifier: Apache-2.0 */
/* replay: reads the segments of a node's log after a start, and hands out the records that follow
 * the snapshot, each once and in order.
 *
 * Its bytes come from a disk, so each is checked. A record that is cut or damaged is the end of the
 * log only where a crash leaves one: in the last segment, with no valid record after it. It is cut
 * off, and said in the log. Elsewhere records are lost that had been told as done: the whole log is
 * put aside, and the map must be fetched anew. A segment that ends in damage does no harm where the
 * next one continues what was read of it: its writer had given it up.
 */
#ifndef CLUSTER_STORE_REPLAY_H
#define CLUSTER_STORE_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/store/segments.h"
#include "cluster/wire/wal_record.h"

enum cluster_replay_end {
    CLUSTER_REPLAY_WHOLE,
    CLUSTER_REPLAY_CUT,    /* a record that had not become durable was cut off */
    CLUSTER_REPLAY_DAMAGED /* the log is put aside: no record that was applied counts, and before
                              the next one is appended there must be a snapshot */
};

struct cluster_replay {
    enum cluster_replay_end end;
    uint64_t revision; /* the map's; 0: it is empty, or DAMAGED */
    uint64_t sequence; /* the next segment's */
    size_t segments;   /* that there are */
    uint64_t records;  /* which were applied */
};

/* Returns 0, or a failure that ends the reading. */
typedef int cluster_replay_apply(void *user, const struct cluster_wal_record *record);

/* Replays the log over a map of this revision: that of the snapshot, or 0. It returns after all
 * that it found is durable. Fails with RAPAHUB_EFORMAT for the log of another node, with
 * RAPAHUB_EABI for one of a later release, and as `apply` does; then no file is changed. Waits for
 * the disk. */
int cluster_replay_run(const struct cluster_segments *log, uint64_t revision,
                       cluster_replay_apply *apply, void *user, struct cluster_replay *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* map_writer: carries out plans, one at a time. Its transaction compares everything that the plan
 * was made from, with the node's session and the last delta; so it happens as planned, or not at
 * all. When the map is to change it waits until the node's own map has.
 */
#ifndef CLUSTER_CORE_OPS_MAP_WRITER_H
#define CLUSTER_CORE_OPS_MAP_WRITER_H

#include "cluster/core/base/txns.h"
#include "cluster/core/ops/context.h"
#include "cluster/core/ops/plan.h"

#define CLUSTER_MAP_WRITER_LEAST_NS (UINT64_C(20) * 1000000)   /* before it tries again */
#define CLUSTER_MAP_WRITER_MOST_NS  (UINT64_C(5) * 1000000000) /* it doubles up to this */
#define CLUSTER_MAP_WRITER_DELTA_NS (UINT64_C(5) * 1000000000) /* for the delta of its own */

enum cluster_map_writer_state {
    CLUSTER_MAP_WRITER_IDLE,
    CLUSTER_MAP_WRITER_SENT,     /* its transaction is under way */
    CLUSTER_MAP_WRITER_APPLYING, /* that has happened, and the map does not know it yet */
    CLUSTER_MAP_WRITER_PAUSED,   /* it tries again later */
    CLUSTER_MAP_WRITER_CLOSED,   /* the metastore takes nothing more */
    CLUSTER_MAP_WRITER_STATES
};

extern const struct hub_states cluster_map_writer_states;

struct cluster_map_writer {
    struct cluster_txns *txns;
    uint32_t state;
    uint32_t place;    /* the transaction's */
    uint32_t attempts; /* that failed, one after another */
    int32_t status;    /* enum cluster_txn_status, the last one's */
    bool counts;       /* its transaction takes the number of a pool */
    uint64_t revision; /* that the map shall have */
    uint64_t until_ns; /* the end of its waiting */
    struct cluster_plan plan;
};

/* -ENOMEM. */
int cluster_map_writer_init(struct cluster_map_writer *writer);
void cluster_map_writer_fini(struct cluster_map_writer *writer);

/* Says whether a plan may be made: none is under way, and the map is that of the metastore. */
bool cluster_map_writer_is_ready(struct cluster_map_writer *writer,
                                 struct cluster_context *context);

/* Says whether the entry is being changed by what is under way. */
bool cluster_map_writer_changes(const struct cluster_map_writer *writer,
                                const struct cluster_address *address);

/* Carries out the plan in the writer, which is ready; it is not empty. A negative return: the
 * metastore would not take it, and nothing was done. */
int cluster_map_writer_send(struct cluster_map_writer *writer, struct cluster_context *context,
                            const struct cluster_operations *operations);

/* This node leads no more: whatever its transaction comes to changes nothing here. */
void cluster_map_writer_leave(struct cluster_map_writer *writer);

struct cluster_map_writer_outcome {
    uint64_t id; /* the effect's */
    uint64_t revision;
    int32_t status; /* enum cluster_txn_status */
};

/* Its transaction has ended. If it has happened the operations and pools are changed, and its
 * plan's entries will be with their delta. -ENOENT: it is none of its own. */
int cluster_map_writer_stored(struct cluster_map_writer *writer, struct cluster_context *context,
                              struct cluster_operations *operations,
                              const struct cluster_map_writer_outcome *outcome);

#endif

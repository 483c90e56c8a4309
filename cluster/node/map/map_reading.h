/* SPDX-License-Identifier: Apache-2.0 */
/* map_reading: reads all that the core wants to know of the metastore, at one revision, and tells
 * it in order: READING, pools, operations and the number of the next pool, nodes, entries, READ.
 * Values are told as they are, in the body of an event: who tells them to the core reads them.
 * Owner.
 */
#ifndef CLUSTER_NODE_MAP_MAP_READING_H
#define CLUSTER_NODE_MAP_MAP_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/keys.h"
#include "cluster/metastore/metastore.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/map/map_nodes.h"

struct cluster_map_reading {
    struct cluster_metastore *store;
    struct cluster_event_queue *events;
    struct cluster_map_nodes *nodes;
    bool leads; /* this node does, and reads more */
    bool open;
    unsigned part; /* which keys are read now */
    uint64_t revision;
    char from[CLUSTER_KEYS_SIZE_MAX + 1], past[CLUSTER_KEYS_SIZE_MAX];
    size_t from_size, past_size;
};

/* `leads`: this node does, and is told of operations. */
void cluster_map_reading_init(struct cluster_map_reading *reading, struct cluster_metastore *store,
                              struct cluster_event_queue *events, struct cluster_map_nodes *nodes,
                              bool leads);

/* Begins to read; READ comes in any case. At most one reading is open. */
void cluster_map_reading_begin(struct cluster_map_reading *reading);

#endif

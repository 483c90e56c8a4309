/* SPDX-License-Identifier: Apache-2.0 */
/* map_nodes: the nodes of the metastore and their sessions, which are two records of each. A change
 * of either is told to the core as one event, NODE: with the session, and the record in its body as
 * it is. A reading and a watch may tell the same, in any order: the last put counts. Owner.
 */
#ifndef CLUSTER_NODE_MAP_MAP_NODES_H
#define CLUSTER_NODE_MAP_MAP_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/keys.h"
#include "cluster/base/txn.h"
#include "cluster/node/base/event_queue.h"

#define CLUSTER_MAP_NODES_MAX 257 /* the core knows no more */

struct cluster_map_nodes_node {
    uint32_t node;
    uint64_t record_revision, session_revision; /* the last change; 0: none was told */
    uint64_t session;                           /* 0: it has none */
    bool held_dead;                             /* the core was told so last, see HELD */
    uint8_t *record;                            /* NULL: it has none */
    size_t size;
};

struct cluster_map_nodes {
    struct cluster_event_queue *events;
    uint32_t count;
    struct cluster_map_nodes_node nodes[CLUSTER_MAP_NODES_MAX];
};

void cluster_map_nodes_init(struct cluster_map_nodes *nodes, struct cluster_event_queue *events);

/* Frees what it keeps, also of one that is all zeros. */
void cluster_map_nodes_fini(struct cluster_map_nodes *nodes);

/* Says whether keys of this kind are taken. */
bool cluster_map_nodes_is_of_node(enum cluster_keys_kind kind);

/* Takes a record of a node or of its session, copied, or that it is gone; unless it is older
 * than the last. -ENOMEM. */
int cluster_map_nodes_take(struct cluster_map_nodes *nodes, const struct cluster_key *key,
                           const struct cluster_pair *pair, bool deleted);

/* Tells all that is known once more: who did not lead was not told. -ENOMEM. */
int cluster_map_nodes_tell_all(const struct cluster_map_nodes *nodes);

#endif

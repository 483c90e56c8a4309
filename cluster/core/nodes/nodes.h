/* SPDX-License-Identifier: Apache-2.0 */
/* nodes: the nodes of the cluster, as the metastore has them: which may get containers, and in
 * which session each is. This node is one of them from the beginning.
 */
#ifndef CLUSTER_CORE_NODES_NODES_H
#define CLUSTER_CORE_NODES_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/wire/record.h"

/* Bytes of any record of a node, with its addresses. */
#define CLUSTER_NODES_RECORD_MAX \
    (CLUSTER_RECORD_ADDRESSES_MAX * (CLUSTER_RECORD_TEXT_MAX + 4) + 512)

struct cluster_nodes_node {
    uint32_t node;
    uint32_t place;
    uint32_t capacity; /* from 1 */
    bool named_only;   /* it gets containers only of pools that name it */
    uint8_t state;     /* enum cluster_record_node_state */
    bool dead;         /* the detection of this node holds it for dead: it gets no containers */
    uint64_t session;  /* 0: it has none now */
    uint64_t revision; /* the last put of its record; 0: it was not told */
    char zone[CLUSTER_KEYS_NAME_MAX + 1];
    /* Counted by placement.h, for one pool at a time: */
    bool may;               /* it may get containers of the pool */
    uint32_t load, of_pool; /* containers that it has, and those of the pool */
    uint32_t zone_first;    /* place of the first node of its zone */
    uint32_t zone_load;     /* that node's: containers of the pool in the zone */
    uint32_t recovering;    /* counted by recover.h: containers that recover there */
    bool leaves;            /* a person wants that; its record does not say so yet */
    bool discard;           /* also without what only its disk has */
    uint32_t record_size;   /* 0: its record is not known, or too large */
    uint8_t record[CLUSTER_NODES_RECORD_MAX];
};

struct cluster_nodes;

/* Makes a table of `node`, which is active and has the capacity 1 until more is told, and of at
 * most `others`. -ENOMEM. */
int cluster_nodes_create(uint32_t node, uint32_t others, struct cluster_nodes **out);
void cluster_nodes_release(struct cluster_nodes **nodes);

/* Takes the record of a node, which was read, and its session; 0: it has none. NULL: it is no node
 * any more. RAPAHUB_EFULL where there are too many. */
int cluster_nodes_put(struct cluster_nodes *nodes, uint32_t node, uint64_t session,
                      const struct cluster_record_node *record);

/* Keeps the record of a node that is known, with the revision of its last put. */
void cluster_nodes_keep(struct cluster_nodes *nodes, uint32_t node, uint64_t revision,
                        const struct cluster_record_node *record);

/* Returns the record that was kept of a node, with this state, and with views of it; there is one.
 */
struct cluster_record cluster_nodes_record(const struct cluster_nodes_node *node, uint8_t state);

/* The record of a node was written with this state. */
void cluster_nodes_written(struct cluster_nodes *nodes, uint32_t node, uint8_t state,
                           uint64_t revision);

/* Forgets which nodes are to leave, where no record says so. */
void cluster_nodes_forget_leaves(struct cluster_nodes *nodes);

/* Says whether a node is to leave the cluster, and has ended itself: nothing more comes of it. */
bool cluster_nodes_has_ended(const struct cluster_nodes *nodes, uint32_t node);

/* Return the node at a place in use; a node, or NULL; the next after a place, which becomes its
 * place; 0 is before the first.
 */
struct cluster_nodes_node *cluster_nodes_at(const struct cluster_nodes *nodes, uint32_t place);
struct cluster_nodes_node *cluster_nodes_find(const struct cluster_nodes *nodes, uint32_t node);
struct cluster_nodes_node *cluster_nodes_after(const struct cluster_nodes *nodes, uint32_t *place);

/* The detection of this node holds a node for dead, or does no more. Returns whether that is new.
 */
bool cluster_nodes_hold_dead(struct cluster_nodes *nodes, uint32_t node, bool dead);

/* Returns the session of a node; 0: it has none, or is not known. */
uint64_t cluster_nodes_session(const struct cluster_nodes *nodes, uint32_t node);

#endif

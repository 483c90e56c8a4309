/* SPDX-License-Identifier: Apache-2.0 */
/* map_watch: follows the metastore. Each of its revisions that concerns pools or entries is told to
 * the core, in order: a delta only after it is durable in the node's log, a pool's record before
 * the delta of its revision, its removal after that. Values are told as in map_reading. A revision
 * without a delta is noted on the disk, so that a metastore that lacks it is told as old. A
 * certificate that was revoked is told at once, and so is a node. Owner.
 */
#ifndef CLUSTER_NODE_MAP_MAP_WATCH_H
#define CLUSTER_NODE_MAP_MAP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/metastore/metastore.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/disk/store_thread.h"
#include "cluster/node/map/map_nodes.h"
#include "hub/base/list.h"

/* Upwards. A constant table. */
struct cluster_map_watch_hooks {
    /* A certificate with this serial number, as the key has it, was revoked. */
    void (*revoked)(void *user, struct rapahub_string serial);
    /* The record that says who leads was put. */
    void (*lead)(void *user, const struct cluster_pair *pair);
};

struct cluster_map_watch {
    const struct cluster_map_watch_hooks *hooks; /* set before it begins */
    void *user;
    struct cluster_metastore *store;
    struct cluster_store_thread *disk;
    struct cluster_event_queue *events;
    struct cluster_map_nodes *nodes; /* told at once */
    uint64_t watch;
    uint64_t logged;     /* revision of the last delta that went to the log */
    uint64_t seen;       /* the last revision without a delta; the log says nothing of it */
    uint64_t noting;     /* the one that is being noted on the disk; 0: none is */
    struct hub_list all; /* revisions that were not told yet, in order */
    bool wants_snapshot; /* the log of the map has grown */
    bool lost;           /* the metastore tells no more */
};

/* Sets the parts of a node that it uses. */
void cluster_map_watch_init(struct cluster_map_watch *watch, struct cluster_metastore *store,
                            struct cluster_store_thread *disk, struct cluster_event_queue *events);

/* Begins to watch from a revision on, at which the log has the delta of revision `last`. */
int cluster_map_watch_begin(struct cluster_map_watch *watch, uint64_t revision, uint64_t last);

/* Hears no more of the metastore, and forgets what was not told, also of one that is all zeros. The
 * thread of the disk has stopped. */
void cluster_map_watch_end(struct cluster_map_watch *watch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* runner: the turns of a node. Events are told to the core, in order, and its effects are carried
 * out. No turn waits: all that the node waits for is in one descriptor. Owner.
 */
#ifndef CLUSTER_NODE_RUNNER_H
#define CLUSTER_NODE_RUNNER_H

#include "cluster/core/core.h"
#include "cluster/node/base/buffers.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/base/leader.h"
#include "cluster/node/base/pool_records.h"
#include "cluster/node/blobs/blob_fetches.h"
#include "cluster/node/boot/boot.h"
#include "cluster/node/calls/peering.h"
#include "cluster/node/calls/router.h"
#include "cluster/node/client_router.h"
#include "cluster/node/detection/detector.h"
#include "cluster/node/disk/store_thread.h"
#include "cluster/node/guests/container_steps.h"
#include "cluster/node/holders/copy_links.h"
#include "cluster/node/lead/leading.h"
#include "cluster/node/map/map_nodes.h"
#include "cluster/node/map/map_reading.h"
#include "cluster/node/map/map_watch.h"
#include "cluster/node/peers/seat_service.h"
#include "cluster/node/renewal/renewals.h"
#include "cluster/node/services/services.h"

/* Changes that were told. */
struct cluster_runner_known {
    uint64_t identity;       /* to the clients */
    uint64_t verdicts, held; /* of the detector, to the core */
};

struct cluster_runner { /* its maker sets what is not NULL here, and releases it */
    struct cluster_boot *boot;
    struct cluster_core *core;
    struct cluster_event_queue *events;
    struct cluster_buffers *buffers;
    struct cluster_pool_records *pools;
    struct cluster_store_thread *disk;
    struct cluster_router *router;
    struct cluster_peering_links links; /* to other nodes: those of `peers` */
    struct cluster_peering *peering;
    struct cluster_blob_fetches *modules; /* to and from other nodes */
    struct cluster_copy_links *copies;    /* likewise */
    struct cluster_container_steps *steps;
    struct cluster_services *services;
    struct cluster_node_identity *identity;
    struct cluster_renewals *renewals;
    struct cluster_client_router *clients;
    struct cluster_peer_links *peers;
    struct cluster_detector *detector;
    struct cluster_runner_known known;
    struct cluster_seat_service
        *seat; /* NULL: the metastore is another node's, and drives `peers` */
    struct cluster_leader leader;
    struct cluster_leading leading;
    struct cluster_map_nodes nodes;
    struct cluster_map_reading reading;
    struct cluster_map_watch watch;
    int epoll, timer;
    uint64_t armed_ns; /* the timer rings then, or has since; HUB_NEVER: it does not */
    uint64_t store_ns; /* the metastore wants a step then, or when its descriptor is readable */
    uint64_t peers_ns; /* the links to other nodes want a step then, or by their descriptor */
    uint64_t timer_ns; /* when the core wants a step; HUB_NEVER: at no time */
    uint64_t until_ns; /* another time at which a turn is wanted; 0: none */
    const struct cluster_container_rows_hooks *hooks; /* by which the core is told at once; NULL: it
                                                         has not begun */
    bool started;
    bool fenced;   /* the metastore has another session of this node, or none */
    uint8_t state; /* its own record says it; 0: not known yet */
    bool busy;     /* events are being told */
    bool told;     /* some were, in turns of the host; the rest of a turn is due */
    int failure;   /* a record of the metastore is not sound */
    struct cluster_effects *effects;
};

/* For the containers of the node, which the runner has as their teller. */
extern const struct cluster_container_rows_hooks cluster_runner_hooks;

/* Gathers the descriptors, and begins: the core reads its map. Waits until it has that, but no
 * longer than this: -ETIMEDOUT. */
int cluster_runner_begin(struct cluster_runner *runner, uint64_t timeout_ns);

/* Takes a turn. A failure: the node serves no more. */
int cluster_runner_turn(struct cluster_runner *runner);

/* Takes a turn for which no descriptor is readable, if callbacks of the host have told something
 * since the last one. */
int cluster_runner_settle(struct cluster_runner *runner);

void cluster_runner_end(struct cluster_runner *runner);

#endif

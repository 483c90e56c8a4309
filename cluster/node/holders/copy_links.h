/* SPDX-License-Identifier: Apache-2.0 */
/* copy_links: copies between this node and others: what goes out, what is kept, what is fetched,
 * and what owners tell the node that leads. It is a user of the links. Owner.
 */
#ifndef CLUSTER_NODE_HOLDERS_COPY_LINKS_H
#define CLUSTER_NODE_HOLDERS_COPY_LINKS_H

#include "cluster/node/base/event_queue.h"
#include "cluster/node/holders/copy_fetches.h"
#include "cluster/node/holders/copy_keeper.h"
#include "cluster/node/holders/copy_shipments.h"

struct cluster_copy_links { /* members for those who use them */
    struct cluster_copy_shipments *shipments;
    struct cluster_copy_keeper *keeper;
    struct cluster_copy_fetches *fetches;
    struct cluster_event_queue *events;
    struct cluster_peer_links *links;
    struct cluster_store_thread *disk;
    const struct cluster_core *core;
};

struct cluster_copy_links_parts { /* all live longer */
    const struct cluster_core *core;
    struct cluster_peer_links *links;
    struct cluster_store_thread *disk;
    struct cluster_event_queue *events;
};

/* -ENOMEM. The thread of the disk ends before the release. */
int cluster_copy_links_create(const struct cluster_copy_links_parts *parts,
                              struct cluster_copy_links **out);
void cluster_copy_links_release(struct cluster_copy_links **links);

/* For the links, with this as their user. */
extern const struct cluster_peer_links_hooks cluster_copy_links_hooks;

/* The core was told of the holders of a container, or that the record is `gone`. */
void cluster_copy_links_changed(struct cluster_copy_links *links, uint64_t pool, uint32_t container,
                                bool gone);

/* Carries out effect HELD; without a link it is dropped. */
void cluster_copy_links_held(struct cluster_copy_links *links, const struct cluster_effect *effect);

/* Goes on with all. Returns when it is to be called again at the latest, or HUB_NEVER. */
uint64_t cluster_copy_links_step(struct cluster_copy_links *links, uint64_t now_ns);

/* Ends all that is open. NULL is ignored. */
void cluster_copy_links_stop(struct cluster_copy_links *links);

#endif

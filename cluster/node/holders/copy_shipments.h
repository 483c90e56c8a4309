/* SPDX-License-Identifier: Apache-2.0 */
/* copy_shipments: the copies of this node's containers on their way to the other holders. A copy
 * has ended when each node that the record names, or that joins it, keeps it; a node that is named
 * no more is not waited for. It goes in pieces, each holder says what it has, and a link that is
 * lost is waited for. No more than a few pieces and copies are under way to a node at a time.
 * Owner.
 */
#ifndef CLUSTER_NODE_HOLDERS_COPY_SHIPMENTS_H
#define CLUSTER_NODE_HOLDERS_COPY_SHIPMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/core.h"
#include "cluster/node/peers/peer_links.h"
#include "cluster/store/copy_file.h"

#define CLUSTER_COPY_SHIPMENTS_AHEAD 4  /* pieces that a holder has not said to have */
#define CLUSTER_COPY_SHIPMENTS_OPEN  64 /* copies that it has not said to keep */
#define CLUSTER_COPY_SHIPMENTS_BYTES                            \
    (UINT64_C(512) << 20) /* in all; a single one may be larger \
                           */
#define CLUSTER_COPY_SHIPMENTS_ALARM_NS (UINT64_C(2) * 1000000000)

struct cluster_copy_shipments;

struct cluster_copy_shipment_end {
    int status;       /* 0, or a failure */
    const char *text; /* why, else "" */
    bool whole;       /* it was not kept: a whole state is wanted */
    uint32_t joined;  /* a node that joins the holders, and keeps it, also after a failure, or this
                         one; 0: none */
};

/* Comes once for each copy that was taken. */
typedef void cluster_copy_shipment_on_done(void *user, const struct cluster_copy_shipment_end *end);

struct cluster_copy_shipment_order {
    uint64_t pool, deadline_ns;
    uint32_t container;
    struct cluster_copy copy; /* its bytes are copied */
    cluster_copy_shipment_on_done *on_done;
    void *user;
};

/* Core and links live longer. -ENOMEM. */
int cluster_copy_shipments_create(const struct cluster_core *core, struct cluster_peer_links *links,
                                  struct cluster_copy_shipments **out);
void cluster_copy_shipments_release(struct cluster_copy_shipments **shipments);

/* Sends a copy to all other holders. Returns 1: `on_done` comes, never inside of this function; 0:
 * there is no other holder. RAPAHUB_EBUSY: too many bytes are under way. -ENOMEM. */
int cluster_copy_shipments_begin(struct cluster_copy_shipments *shipments,
                                 const struct cluster_copy_shipment_order *order);

/* The record of a container has changed; a new life of it begins, so that its copies end. */
void cluster_copy_shipments_look(struct cluster_copy_shipments *shipments, uint64_t pool,
                                 uint32_t container);
void cluster_copy_shipments_cancel(struct cluster_copy_shipments *shipments, uint64_t pool,
                                   uint32_t container);

/* The links tell this. A COPY_TAKEN that says what cannot be is RAPAHUB_EPROTOCOL. */
void cluster_copy_shipments_up(struct cluster_copy_shipments *shipments, uint32_t node);
void cluster_copy_shipments_lost(struct cluster_copy_shipments *shipments, uint32_t node);
int cluster_copy_shipments_taken(struct cluster_copy_shipments *shipments, uint32_t from,
                                 const struct cluster_body_copy_taken *taken);

/* Says how far a holder is with the copy of a container that is under way: `*has`, whether it keeps
 * it. False: none is under way to it. */
bool cluster_copy_shipments_has(const struct cluster_copy_shipments *shipments, uint64_t pool,
                                uint32_t container, uint32_t node, bool *has);

/* The node ends in order: a holder without a link is not waited for. */
void cluster_copy_shipments_hurry(struct cluster_copy_shipments *shipments);

/* Ends what waits for too long, and says which holder is waited for. Returns when it is to be
 * called again at the latest, or HUB_NEVER. */
uint64_t cluster_copy_shipments_step(struct cluster_copy_shipments *shipments, uint64_t now_ns);

/* Ends all: -ECANCELED. None begins any more. NULL is ignored. */
void cluster_copy_shipments_stop(struct cluster_copy_shipments *shipments);

#endif

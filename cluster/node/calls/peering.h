/* SPDX-License-Identifier: Apache-2.0 */
/* peering: the calls between this node and others. The core sends by their links, as
 * frames, and is told by events of frames that come. Owner.
 *
 * Where a frame cannot be sent its call does not wait for the deadline: it was not admitted, or the
 * link ends, with all that was under way.
 */
#ifndef CLUSTER_NODE_CALLS_PEERING_H
#define CLUSTER_NODE_CALLS_PEERING_H

#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/core/event.h"
#include "cluster/node/base/buffers.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/wire/frame.h"

/* The links to other nodes, which belong to another part of the node. */
struct cluster_peering_links {
    /* Sends a copy of a frame; its body may have more bytes than one frame takes. -ENOTCONN: no
     * link to the node is up. -EMSGSIZE: the body is larger than a link takes at all. Another
     * failure, as RAPAHUB_EFULL: there is no room for it now. */
    int (*send)(void *user, uint32_t node, const struct cluster_frame *header,
                struct rapahub_bytes body);
    /* Ends the link to a node, if one is up: it is told as lost, perhaps before this returns. */
    void (*end)(void *user, uint32_t node);
    void *user;
};

struct cluster_peering_parts { /* all live longer */
    struct cluster_event_queue *events;
    struct cluster_buffers *buffers;
    const struct cluster_peering_links *links; /* `send` NULL: there are none */
};

struct cluster_peering;

int cluster_peering_create(const struct cluster_peering_parts *parts, struct cluster_peering **out);
void cluster_peering_release(struct cluster_peering **peering);

/* Carries out effect SEND. */
void cluster_peering_send(struct cluster_peering *peering, const struct cluster_effect *effect);

/* The core has refused a frame: the link that it came over ends. */
void cluster_peering_refused(struct cluster_peering *peering, const struct cluster_event *event);

/* The links tell this, with the peering as their user, in the order in which it happens: a link is
 * up, to a life of a node with this session and boot, which are not before those that were known;
 * and it is lost, however it ended. */
void cluster_peering_up(void *user, uint32_t node, uint64_t session, uint32_t boot);
void cluster_peering_lost(void *user, uint32_t node);

/* A frame has come over the link that is up to this node. Its body is whole, and hostile. A failure
 * ends the link: RAPAHUB_EPROTOCOL or RAPAHUB_EFORMAT for a frame that no node sends, else there is
 * no room for it. */
int cluster_peering_frame(void *user, uint32_t from, const struct cluster_frame *header,
                          struct rapahub_bytes body);

#endif

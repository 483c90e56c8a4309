/* SPDX-License-Identifier: Apache-2.0 */
/* fanout_route: which queues a message of the source goes to, by mode and credit policy.
 *
 * Broadcast: each consumer that is to have messages gets it, as far as its credit goes. Work queue:
 * one of them does. Drop: who has no credit goes without. Park: a broadcast waits for all who live,
 * a work queue for the first. Detach: the same, but who has no credit for too long is left out.
 * r[impl region.mode] r[impl region.credit.policy] */
#ifndef HUB_BUS_FANOUT_ROUTE_H
#define HUB_BUS_FANOUT_ROUTE_H

#include "hub/bus/fanout_queue.h"

struct hub_fanout_route {
    struct rapahub_region *region;
    struct hub_fanout_shape shape;
    struct hub_fanout_queue queues[HUB_REGION_QUEUES_MAX];
    uint64_t position; /* that is routed next, or now */
    uint32_t next;     /* work queue: where the search begins */
};

/* Begins at position `source` of the source ring. RAPAHUB_ECORRUPT. */
int hub_fanout_route_begin(struct hub_fanout_route *route, struct rapahub_region *region,
                           uint64_t source);

/* Puts a message where it belongs; then its cell of the source may be freed. May be repeated for
 * the same message: who has it gets it once. RAPAHUB_EFULL, without a diagnosis: it waits for
 * credit; RAPAHUB_ECORRUPT. */
int hub_fanout_route_message(struct hub_fanout_route *route, const struct rapahub_message *message);

/* Says whether a message would have to wait. */
bool hub_fanout_route_is_held_up(const struct hub_fanout_route *route);

/* For a router that waits for credit: leaves out who has had none for too long, and notes who is
 * proven dead. */
void hub_fanout_route_look(struct hub_fanout_route *route);

#endif

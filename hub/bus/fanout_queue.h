/* SPDX-License-Identifier: Apache-2.0 */
/* fanout_queue: the queue of a consumer, as its router has it: what it holds already, whether it
 * may have more, and the next message. All of it comes from its cells, so a router that starts
 * again finds what the one before it knew. */
#ifndef HUB_BUS_FANOUT_QUEUE_H
#define HUB_BUS_FANOUT_QUEUE_H

#include "hub/bus/fanout.h"

struct hub_fanout_queue {
    struct hub_ring_view view;
    struct hub_region_consumer *entry;
    uint64_t tail;
    uint64_t last; /* source position + 1 of its last message; 0: none, or not known */
    uint32_t credit_max;
    /* known to this router alone */
    uint64_t over_since; /* without credit since then; 0: it has some */
    uint32_t opened;     /* the opening of its consumer that was left out */
    bool left_out;       /* it was over its credit for too long */
};

/* Begins at what the cells tell. `source` is the position that is routed next. RAPAHUB_ECORRUPT.
 * r[impl region.router.once] */
int hub_fanout_queue_resume(struct hub_fanout_queue *queue, const struct rapahub_region *region,
                            uint32_t index, uint64_t source);

/* Says whether the queue is to have messages at all. */
bool hub_fanout_queue_wants(const struct hub_fanout_queue *queue);

/* Says whether it may have one more: the message `credit_max` before its tail was taken out.
 * r[impl region.credit] */
bool hub_fanout_queue_has_credit(const struct hub_fanout_queue *queue);

/* Appends a message of the source, and wakes its consumer. The queue has credit. RAPAHUB_ECORRUPT.
 */
int hub_fanout_queue_push(struct hub_fanout_queue *queue, const struct rapahub_message *message);

/* Counts a message that it does not get. */
void hub_fanout_queue_drop(const struct hub_fanout_queue *queue);

#endif

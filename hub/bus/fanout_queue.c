/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanout_queue.h"

#include <inttypes.h>

#include "hub/bus/resume.h"
#include "hub/bus/spsc.h"

/* The cell before the tail keeps its bytes also when its message was taken out: the ring has two
 * cells at least. */
static uint64_t last_of(const struct hub_fanout_queue *queue)
{
    const struct hub_region_cell *cell;

    if (!queue->view.routed || queue->tail == 0)
        return 0;
    cell = hub_ring_view_cell(&queue->view, queue->tail - 1);
    return hub_atomic_peek_bytes(cell->payload);
}

int hub_fanout_queue_resume(struct hub_fanout_queue *queue, const struct rapahub_region *region,
                            uint32_t index, uint64_t source)
{
    int r;

    *queue = (struct hub_fanout_queue){
        .view = hub_region_queue_view(region->mapping.data, &region->shape, index),
        .entry = hub_fanout_consumer(region, index),
        .credit_max = region->shape.fanout.credit_max};
    r = hub_resume_tail(&queue->view, &queue->tail);
    if (r < 0)
        return r;
    queue->last = last_of(queue);
    return queue->last <= source + 1
               ? 0
               : rapahub_fail(RAPAHUB_ECORRUPT, "region.router.once",
                              "queue %" PRIu32 " says that it has position %" PRIu64
                              " of the source, which is at %" PRIu64,
                              index, queue->last - 1, source);
}

bool hub_fanout_queue_wants(const struct hub_fanout_queue *queue)
{
    uint32_t flags = hub_observe(&queue->entry->flags);

    return (flags & (HUB_CONSUMER_SUBSCRIBED | HUB_CONSUMER_DETACHED)) == HUB_CONSUMER_SUBSCRIBED &&
           (!queue->left_out || queue->opened != hub_observe(&queue->entry->opened));
}

bool hub_fanout_queue_has_credit(const struct hub_fanout_queue *queue)
{
    uint64_t oldest = queue->tail - queue->credit_max;
    const struct hub_region_cell *cell;

    if (queue->tail < queue->credit_max)
        return true;
    cell = hub_ring_view_cell(&queue->view, oldest);
    return hub_observe64(&cell->state) != hub_cell_published(oldest);
}

int hub_fanout_queue_push(struct hub_fanout_queue *queue, const struct rapahub_message *message)
{
    int r = hub_spsc_forward(&queue->view, queue->tail, message);

    if (r < 0)
        return r;
    queue->tail++;
    queue->last = message->position + 1;
    queue->over_since = 0;
    hub_count64(&queue->entry->delivered, 1);
    hub_sleep_wake(&queue->view.not_empty);
    return 0;
}

void hub_fanout_queue_drop(const struct hub_fanout_queue *queue)
{
    hub_count64(&queue->entry->dropped, 1);
}

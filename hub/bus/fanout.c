/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanout.h"

#include <inttypes.h>

#include "hub/base/clock.h"

struct hub_region_fanout *hub_fanout_body(const struct rapahub_region *region)
{
    return (struct hub_region_fanout *)(void *)(region->mapping.data + region->shape.body_off);
}

struct hub_region_consumer *hub_fanout_consumer(const struct rapahub_region *region, uint32_t index)
{
    uint8_t *first = region->mapping.data + region->shape.fanout.consumers_off;

    return (struct hub_region_consumer *)(void *)first + index;
}

/* A router that is held up looks again. */
static void wake_router(const struct rapahub_region *region)
{
    struct hub_ring_view view = hub_region_queue_view(region->mapping.data, &region->shape, 0);

    hub_sleep_wake_all(&view.not_full);
}

static void change(const struct rapahub_region *region, uint32_t index, uint32_t clear,
                   uint32_t set)
{
    struct hub_a32 *flags = &hub_fanout_consumer(region, index)->flags;

    (void)hub_clear_bits(flags, clear);
    (void)hub_arm(flags, set);
    wake_router(region);
}

void hub_fanout_subscribe(const struct rapahub_region *region, uint32_t index)
{
    (void)hub_add(&hub_fanout_consumer(region, index)->opened, 1);
    change(region, index, HUB_CONSUMER_SUSPENDED, HUB_CONSUMER_SUBSCRIBED);
}

void hub_fanout_unsubscribe(const struct rapahub_region *region, uint32_t index)
{
    change(region, index, HUB_CONSUMER_SUBSCRIBED | HUB_CONSUMER_SUSPENDED, 0);
}

void hub_fanout_suspend(const struct rapahub_region *region, uint32_t index)
{
    uint32_t flags = hub_observe(&hub_fanout_consumer(region, index)->flags);

    if ((flags & HUB_CONSUMER_SUBSCRIBED) && !(flags & HUB_CONSUMER_SUSPENDED))
        change(region, index, 0, HUB_CONSUMER_SUSPENDED);
}

void hub_fanout_forget(const struct rapahub_region *region, uint32_t lease)
{
    (void)hub_claim(&hub_fanout_body(region)->router_lease, lease + 1, 0);
    for (uint32_t i = 0; i < region->shape.fanout.consumers; i++) {
        struct hub_region_consumer *consumer = hub_fanout_consumer(region, i);
        struct hub_ring_view view = hub_region_queue_view(region->mapping.data, &region->shape, i);

        if (hub_observe(&consumer->lease) == lease + 1) {
            hub_fanout_suspend(region, i);
            (void)hub_claim(&consumer->lease, lease + 1, 0);
        }
        hub_sleep_wake_all(&view.not_empty);
    }
    wake_router(region);
}

/* r[impl region.detach] */
int rapahub_region_detach(struct rapahub_region *region, uint32_t consumer, bool detached)
{
    int r;

    if (consumer >= region->shape.fanout.consumers)
        return rapahub_fail(RAPAHUB_EINVAL, "region.detach",
                            "the region has no consumer %" PRIu32 ": it has %" PRIu32, consumer,
                            region->shape.fanout.consumers);
    r = hub_region_table_enter(region, hub_clock_after(region->wait_ns));
    if (r < 0)
        return r;
    r = hub_region_current(region);
    if (r == 0)
        change(region, consumer, HUB_CONSUMER_DETACHED, detached ? HUB_CONSUMER_DETACHED : 0);
    hub_region_table_leave(region);
    return r;
}

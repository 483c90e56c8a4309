/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/fanin.h"

struct hub_region_fanin *hub_fanin_body(const struct rapahub_region *region)
{
    return (struct hub_region_fanin *)(void *)(region->mapping.data + region->shape.body_off);
}

void hub_fanin_forget(const struct rapahub_region *region, uint32_t lease)
{
    (void)hub_claim(&hub_fanin_body(region)->consumer_lease, lease + 1, 0);
    for (uint32_t i = 0; i < region->shape.producers; i++) {
        struct hub_ring_view view = hub_region_ring_view(region->mapping.data, &region->shape, i);

        (void)hub_claim(&view.ring->producer_lease, lease + 1, 0);
        hub_sleep_wake_all(&view.not_full);
    }
}

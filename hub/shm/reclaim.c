/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim: each step may be done twice, and the state is changed last. If a host's thread stops in
 * between, the entry is reclaimed again; it is never reused half reclaimed. */
#include "hub/shm/reclaim.h"

#include "hub/base/atomic.h"
#include "hub/shm/layout.h"

static void reset_indices(struct hub_peer_entry *entry)
{
    hub_store_relaxed(&entry->guest_to_host_head, 0);
    hub_store_relaxed(&entry->guest_to_host_tail, 0);
    hub_store_relaxed(&entry->host_to_guest_head, 0);
    hub_store_relaxed(&entry->host_to_guest_tail, 0);
}

static void reset_channels(struct hub_channel_entry *channels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hub_store_relaxed(&channels[i].granted_total, 0);
        hub_store_relaxed(&channels[i].state, HUB_CHANNEL_FREE);
    }
}

static void reset_words(struct hub_peer_entry *entry)
{
    hub_store_relaxed64(&entry->last_heartbeat, 0);
    hub_store_relaxed(&entry->guest_wait, 0);
    hub_store_relaxed(&entry->host_wait, 0);
}

/* r[impl shm.segment.slot-ownership] */
void hub_reclaim_reset(const struct hub_segment *segment, struct hub_slots *host_slots,
                       uint32_t peer)
{
    struct hub_segment_view view;

    hub_segment_view(segment, peer, &view);
    hub_slots_take_back(host_slots, peer);
    reset_indices(view.entry);
    if (segment->geometry.classes.count == 0)
        hub_slot_pool_reset(&segment->geometry, view.guest_pool);
    reset_channels(view.channels, segment->geometry.limits.channels_max);
    reset_words(view.entry);
}

void hub_reclaim_empty(const struct hub_segment *segment, uint32_t peer)
{
    struct hub_segment_view view;

    hub_segment_view(segment, peer, &view);
    hub_publish(&view.entry->state, HUB_PEER_EMPTY);
}

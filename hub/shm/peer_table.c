/* SPDX-License-Identifier: Apache-2.0 */
/* peer_table: every change of a state is one compare-and-swap, so two sides cannot both make it. */
#include "hub/shm/peer_table.h"

#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/shm/commit.h"

const struct hub_states hub_peer_table_states = {
    .name = "peer",
    .of =
        {
            [HUB_PEER_EMPTY] = {"Empty", HUB_TO(HUB_PEER_RESERVED) | HUB_TO(HUB_PEER_ATTACHED)},
            [HUB_PEER_ATTACHED] = {"Attached", HUB_TO(HUB_PEER_GOODBYE)},
            [HUB_PEER_GOODBYE] = {"Goodbye", HUB_TO(HUB_PEER_EMPTY)},
            [HUB_PEER_RESERVED] = {"Reserved", HUB_TO(HUB_PEER_ATTACHED) | HUB_TO(HUB_PEER_EMPTY) |
                                                   HUB_TO(HUB_PEER_GOODBYE)},
        },
};

/* The states to which a guest with a ticket may have changed between two checks: it may attach and
 * leave in between. */
static const uint32_t guest_moves[] = {
    [HUB_PEER_EMPTY] = 0,
    [HUB_PEER_ATTACHED] = HUB_TO(HUB_PEER_GOODBYE),
    [HUB_PEER_GOODBYE] = 0,
    [HUB_PEER_RESERVED] = HUB_TO(HUB_PEER_ATTACHED) | HUB_TO(HUB_PEER_GOODBYE),
};

#define STATES_COUNT (sizeof(guest_moves) / sizeof(guest_moves[0]))

/* No message is sent to a Reserved entry, and its guest starts only after this returns, so epoch
 * and wait word may be set after the claim. r[impl shm.spawn.ticket] r[impl shm.crash.epoch]
 * r[impl hub.file.room] */
int hub_peer_table_reserve(const struct hub_segment *segment, uint32_t *peer, uint32_t *epoch)
{
    uint32_t guests = segment->geometry.limits.guests_max;

    for (uint32_t id = 1; id <= guests; id++) {
        struct hub_segment_view view;
        int r;

        hub_segment_view(segment, id, &view);
        if (!hub_claim(&view.entry->state, HUB_PEER_EMPTY, HUB_PEER_RESERVED))
            continue;
        r = hub_commit_peer(&segment->mapping, &segment->geometry, id);
        if (r < 0) {
            (void)hub_claim(&view.entry->state, HUB_PEER_RESERVED, HUB_PEER_EMPTY);
            return r;
        }
        *epoch = hub_add(&view.entry->epoch, 1) + 1;
        hub_publish(&view.entry->host_wait, HUB_WAIT_PART | HUB_WAIT_RX_BELL);
        *peer = id;
        return 0;
    }
    return rapahub_fail(RAPAHUB_EFULL, "shm.spawn.reserved-state",
                        "all %u entries of the peer table are taken", guests);
}

/* The words are cleared before the entry becomes Empty, because from then on it may have a new
 * owner. An entry that is no longer Reserved keeps its state and is left to reclaim. */
void hub_peer_table_unreserve(struct hub_peer_entry *entry)
{
    hub_store_relaxed(&entry->guest_wait, 0);
    hub_store_relaxed(&entry->host_wait, 0);
    (void)hub_claim(&entry->state, HUB_PEER_RESERVED, HUB_PEER_EMPTY);
}

/* An entry becomes Reserved only by the host, which knows its own, or by a guest that has locked
 * the range. So a Reserved entry whose range is free belonged to a guest that is dead. If a guest
 * changed the entry straight to Attached, as the specification allows, a guest without a lock would
 * look the same. */
bool hub_peer_table_claim(struct hub_peer_entry *entry)
{
    if (!hub_claim(&entry->state, HUB_PEER_EMPTY, HUB_PEER_RESERVED))
        return false;
    hub_publish(&entry->guest_wait, HUB_WAIT_PART | HUB_WAIT_LOCKED);
    hub_add(&entry->epoch, 1);
    return true;
}

int hub_peer_table_attach(struct hub_peer_entry *entry, uint32_t *epoch)
{
    if (!hub_claim(&entry->state, HUB_PEER_RESERVED, HUB_PEER_ATTACHED))
        return rapahub_fail(RAPAHUB_ESTALE, "shm.spawn.guest-init",
                            "the ticket is spent: its entry is %s, not Reserved",
                            hub_states_name(&hub_peer_table_states, hub_observe(&entry->state)));
    *epoch = hub_observe(&entry->epoch);
    return 0;
}

/* Reserved comes first: if a guest attaches after that swap failed, the second one meets it. */
void hub_peer_table_goodbye(struct hub_peer_entry *entry)
{
    if (!hub_claim(&entry->state, HUB_PEER_RESERVED, HUB_PEER_GOODBYE))
        (void)hub_claim(&entry->state, HUB_PEER_ATTACHED, HUB_PEER_GOODBYE);
}

/* A guest that was given up and replaced a moment ago must not end its successor.
 * r[impl hub.death.guard] */
bool hub_peer_table_leave(struct hub_peer_entry *entry, uint32_t epoch)
{
    return hub_claim_pair(&entry->state, hub_peer_table_attached(epoch),
                          HUB_PEER_GOODBYE | (uint64_t)epoch << 32);
}

/* r[impl shm.host.poll-peers] */
int hub_peer_table_look(const struct hub_peer_entry *entry, uint32_t epoch, uint32_t *seen)
{
    uint32_t state = hub_observe(&entry->state);
    uint32_t found = hub_observe(&entry->epoch);
    bool legal = state == *seen || (*seen < STATES_COUNT && state < STATES_COUNT &&
                                    (guest_moves[*seen] & HUB_TO(state)));

    if (!legal)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.segment.peer-state",
                            "the entry went from %s to %s (%u)",
                            hub_states_name(&hub_peer_table_states, *seen),
                            hub_states_name(&hub_peer_table_states, state), state);
    if (found != epoch)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.crash.epoch",
                            "the entry has epoch %u, its guest has %u", found, epoch);
    *seen = state;
    return 0;
}

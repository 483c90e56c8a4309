/* SPDX-License-Identifier: Apache-2.0 */
/* peer_table: every move of a state is one compare and swap, so two sides cannot both make it. */
#include "hub/shm/peer_table.h"

#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/shm/room.h"

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

/* What a guest with a ticket may have made of a state between two looks: it may attach and leave
 * meanwhile. */
static const uint32_t guest_moves[] = {
    [HUB_PEER_EMPTY] = 0,
    [HUB_PEER_ATTACHED] = HUB_TO(HUB_PEER_GOODBYE),
    [HUB_PEER_GOODBYE] = 0,
    [HUB_PEER_RESERVED] = HUB_TO(HUB_PEER_ATTACHED) | HUB_TO(HUB_PEER_GOODBYE),
};

#define STATES_COUNT (sizeof(guest_moves) / sizeof(guest_moves[0]))

/* Nobody sends to a Reserved entry, and its guest is not started before this returns: so epoch and
 * wait word may follow the claim. r[impl shm.spawn.ticket] r[impl shm.crash.epoch]
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
        r = hub_room_take_peer(&segment->mapping, &segment->geometry, id);
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

/* The words are 0 before the entry is Empty: from then on it may have a new owner. An entry that is
 * not Reserved any more keeps its state; it is reclaim's. */
void hub_peer_table_unreserve(struct hub_peer_entry *entry)
{
    hub_note(&entry->guest_wait, 0);
    hub_note(&entry->host_wait, 0);
    (void)hub_claim(&entry->state, HUB_PEER_RESERVED, HUB_PEER_EMPTY);
}

/* Nobody but a host, which knows its own, and a guest that has locked the range makes an entry
 * Reserved: so what is found in it with the range free was left by a guest that is dead. Straight
 * to Attached, as the text has it, a guest that took no lock would look the same. */
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

/* Reserved first: what attaches after that claim has failed is met by the second. */
void hub_peer_table_goodbye(struct hub_peer_entry *entry)
{
    if (!hub_claim(&entry->state, HUB_PEER_RESERVED, HUB_PEER_GOODBYE))
        (void)hub_claim(&entry->state, HUB_PEER_ATTACHED, HUB_PEER_GOODBYE);
}

/* One that was given up and replaced a moment ago must not end its successor.
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

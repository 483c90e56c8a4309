/* SPDX-License-Identifier: Apache-2.0 */
/* peer_table: the state and the epoch of a peer's entry, as both sides change them. */
#ifndef HUB_SHM_PEER_TABLE_H
#define HUB_SHM_PEER_TABLE_H

#include <stdint.h>

#include "hub/base/states.h"
#include "hub/shm/segment.h"

/* The legal changes of a state. r[impl shm.segment.peer-state] */
extern const struct hub_states hub_peer_table_states;

/* Host: changes the first Empty entry, from peer 1 on, to Reserved, raises its epoch, and marks the
 * host as taking part in waiting. RAPAHUB_EFULL if none is Empty, -ENOSPC if the pages of its rings
 * cannot be reserved. r[impl shm.spawn.reserved-state] */
int hub_peer_table_reserve(const struct hub_segment *segment, uint32_t *peer, uint32_t *epoch);

/* Host: changes Reserved back to Empty after a spawn failed, when the guest is proven dead or never
 * ran. */
void hub_peer_table_unreserve(struct hub_peer_entry *entry);

/* Guest without a ticket, which has locked the range of this peer: changes Empty to Reserved for
 * itself. Then it sets its mark, by which a host that later finds the range free knows that it was
 * locked, and raises the epoch. False if the entry is not Empty. hub_peer_table_attach comes next.
 * r[impl shm.guest.attach] */
bool hub_peer_table_claim(struct hub_peer_entry *entry);

/* Guest with an entry reserved for it: changes Reserved to Attached and returns the epoch, which
 * stays. RAPAHUB_ESTALE if the entry is not Reserved. r[impl shm.spawn.guest-init] */
int hub_peer_table_attach(struct hub_peer_entry *entry, uint32_t *epoch);

/* Host: changes Attached or Reserved to Goodbye. Harmless if it already is. */
void hub_peer_table_goodbye(struct hub_peer_entry *entry);

/* Guest: changes Attached to Goodbye, as its last write. State and epoch are compared at once:
 * false, and nothing is written, if the entry is no longer its own. r[impl shm.guest.detach] */
bool hub_peer_table_leave(struct hub_peer_entry *entry, uint32_t epoch);

/* Returns the state and epoch of an entry whose guest of this epoch is attached, in the form of
 * hub_observe_pair. */
static inline uint64_t hub_peer_table_attached(uint32_t epoch)
{
    return HUB_PEER_ATTACHED | (uint64_t)epoch << 32;
}

/* Host: checks the entry against the state seen last, `*seen`, and the recorded epoch. Returns 0
 * and updates `*seen`, or RAPAHUB_EPROTOCOL with rule shm.segment.peer-state or shm.crash.epoch. */
int hub_peer_table_look(const struct hub_peer_entry *entry, uint32_t epoch, uint32_t *seen);

#endif

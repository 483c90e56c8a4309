/* SPDX-License-Identifier: Apache-2.0 */
/* peer_table: the state and the epoch of a peer's entry, from both sides. */
#ifndef HUB_SHM_PEER_TABLE_H
#define HUB_SHM_PEER_TABLE_H

#include <stdint.h>

#include "hub/base/states.h"
#include "hub/shm/segment.h"

/* The legal moves of a state. r[impl shm.segment.peer-state] */
extern const struct hub_states hub_peer_table_states;

/* Host: Empty to Reserved, the first one from peer 1 on; raises the epoch and makes the host take
 * part in waiting. RAPAHUB_EFULL where none is Empty, -ENOSPC where the pages of its rings cannot
 * be taken. r[impl shm.spawn.reserved-state] */
int hub_peer_table_reserve(const struct hub_segment *segment, uint32_t *peer, uint32_t *epoch);

/* Host: Reserved back to Empty, where a spawn failed and the guest is proven dead or never was. */
void hub_peer_table_unreserve(struct hub_peer_entry *entry);

/* Guest without a ticket, which has locked the range of this peer: Empty to Reserved, for itself;
 * then its mark, so that whoever finds the range free later knows that it was locked, and the epoch
 * one higher. False where the entry is not Empty. hub_peer_table_attach is next.
 * r[impl shm.guest.attach] */
bool hub_peer_table_claim(struct hub_peer_entry *entry);

/* Guest whose entry is Reserved for it: Reserved to Attached; the epoch stays as it was set with
 * that. RAPAHUB_ESTALE where it is not Reserved. r[impl shm.spawn.guest-init] */
int hub_peer_table_attach(struct hub_peer_entry *entry, uint32_t *epoch);

/* Host: Attached or Reserved to Goodbye. Harmless where it is there. */
void hub_peer_table_goodbye(struct hub_peer_entry *entry);

/* Guest: Attached to Goodbye, its last write. False, and nothing is written, where the entry is not
 * its own any more: state and epoch are compared at once. r[impl shm.guest.detach] */
bool hub_peer_table_leave(struct hub_peer_entry *entry, uint32_t epoch);

/* State and epoch of an entry whose guest of this epoch is attached, as hub_observe_pair reads
 * them.
 */
static inline uint64_t hub_peer_table_attached(uint32_t epoch)
{
    return HUB_PEER_ATTACHED | (uint64_t)epoch << 32;
}

/* Host: what the entry says now against what was seen last, `*seen`, and the epoch recorded: 0 and
 * `*seen` moved on, or RAPAHUB_EPROTOCOL with rule shm.segment.peer-state or shm.crash.epoch. */
int hub_peer_table_look(const struct hub_peer_entry *entry, uint32_t epoch, uint32_t *seen);

#endif

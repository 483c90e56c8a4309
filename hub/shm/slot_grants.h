/* SPDX-License-Identifier: Apache-2.0 */
/* slot_grants: slots that the bank grants to guests, for their own messages. */
#ifndef HUB_SHM_SLOT_GRANTS_H
#define HUB_SHM_SLOT_GRANTS_H

#include "hub/shm/slot_bank.h"

/* What a guest has when it comes: 0, or -ENOSPC where there is no room for it: then it has none.
 * More where it says it has run dry: how many slots, of which 1,280 KiB are enough for one look:
 * `wanted` says then that there is more to grant. Any thread of the host, as long as the guest is
 * not taken leave of. r[impl hub.var.single-popper] */
int hub_slot_grants_endow(struct hub_slot_bank *bank, uint32_t peer);
uint32_t hub_slot_grants_attend(struct hub_slot_bank *bank, uint32_t peer);

/* Gives a held slot back to the guest it is granted to: RAPAHUB_EPROTOCOL (shm.varslot.freeing)
 * where the slot is not in flight any more. */
int hub_slot_grants_free(struct hub_slot_bank *bank, uint32_t ref);

/* After proof of a guest's death: all it had is in the reserve again: how many slots. What is
 * loaned for it stays with the threads that write it. May be repeated.
 * r[impl shm.varslot.ownership] */
uint32_t hub_slot_grants_reclaim(struct hub_slot_bank *bank, uint32_t peer);

#endif

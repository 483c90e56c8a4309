/* SPDX-License-Identifier: Apache-2.0 */
/* slot_grants: slots that the host's allocator grants to guests for their own messages. */
#ifndef HUB_SHM_SLOT_GRANTS_H
#define HUB_SHM_SLOT_GRANTS_H

#include "hub/shm/slot_allocator.h"

/* hub_slot_grants_endow grants the first slots when a guest attaches: 0, or -ENOSPC if there is no
 * space, and then none is granted. hub_slot_grants_attend grants more if the guest has run dry, and
 * returns their number; 1,280 KiB are enough for one call, and `wanted` then says that more is to
 * be granted. Any thread of the host, until the guest is let go. r[impl hub.var.single-popper] */
int hub_slot_grants_endow(struct hub_slot_allocator *allocator, uint32_t peer);
uint32_t hub_slot_grants_attend(struct hub_slot_allocator *allocator, uint32_t peer);

/* Returns a held slot to the guest that owns it. RAPAHUB_EPROTOCOL (shm.varslot.freeing) if the
 * slot is no longer in flight. */
int hub_slot_grants_free(struct hub_slot_allocator *allocator, uint32_t ref);

/* The same for a slot that hub_slot_allocator_show has shown. */
int hub_slot_grants_give_back(struct hub_slot_allocator *allocator,
                              const struct hub_slot_held *slot);

/* After proof of a guest's death: moves all its slots back into the reserve and returns their
 * number. Slots that threads here are writing for it stay with these threads. May be repeated.
 * r[impl shm.varslot.ownership] */
uint32_t hub_slot_grants_reclaim(struct hub_slot_allocator *allocator, uint32_t peer);

#endif

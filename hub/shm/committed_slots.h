/* SPDX-License-Identifier: Apache-2.0 */
/* committed_slots: the committed slots of the first extents: those whose pages are reserved. The
 * others, at the end of their extent, are in no reserve, are never handed out, and no ref to one is
 * accepted. So no process touches a page that does not exist. */
#ifndef HUB_SHM_COMMITTED_SLOTS_H
#define HUB_SHM_COMMITTED_SLOTS_H

#include "hub/shm/slot_allocator.h"

/* Moves a committed part of an extent into the reserve, the lowest slot on top. */
void hub_committed_slots_add(struct hub_slot_allocator *allocator, struct hub_slot_ref first,
                             uint32_t count) REQUIRES(allocator->lock);

/* For an allocator whose segment is a file, before any slot is handed out: commits the host's part
 * of each class. -ENOSPC, as hub_mapping_take. */
int hub_committed_slots_open(struct hub_slot_allocator *allocator) REQUIRES(allocator->lock);

/* The reserve is empty and a slot is needed: commits more, and says whether there are any now. A
 * lack of space is logged, and not tried again for a while. */
bool hub_committed_slots_more(struct hub_slot_allocator *allocator, uint32_t c)
    REQUIRES(allocator->lock);

/* Says whether hub_committed_slots_more may be tried now. */
bool hub_committed_slots_may(const struct hub_slot_allocator *allocator, uint32_t c)
    REQUIRES(allocator->lock);

/* Says whether a guest may have one more slot. The host's part of the class should remain, and is
 * committed for that. If there is no space for all of it, the host keeps half of its part, and at
 * least one slot. */
bool hub_committed_slots_spare(struct hub_slot_allocator *allocator, uint32_t c)
    REQUIRES(allocator->lock);

/* Says whether an attaching guest should get only few slots now, because large ones can be
 * committed when it asks: some have no pages yet, and there is ample space for all of them.
 * r[impl hub.file.room] */
bool hub_committed_slots_may_wait(struct hub_slot_allocator *allocator);

/* Returns the slots of a class that the guest is granted first: its share, or a few bytes of it.
 * r[impl hub.var.single-popper] */
uint32_t hub_committed_slots_first(const struct hub_slot_allocator *allocator, uint32_t c, bool few)
    REQUIRES(allocator->lock);

/* For an attaching guest, commits that many slots of each class, besides the host's part and those
 * already granted, or those promised if the guest gets its whole share; as far as there are any. 0
 * or -ENOSPC. Takes the lock separately for each step. */
int hub_committed_slots_share(struct hub_slot_allocator *allocator, bool few);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* slot_allocator_state: shared by the two halves of the host's slot allocator, slot_bank, which
 * lends, reads and grows, and slot_grants, which grants slots to guests and takes them back.
 * Private to them. */
#ifndef HUB_SHM_SLOT_ALLOCATOR_STATE_H
#define HUB_SHM_SLOT_ALLOCATOR_STATE_H

#include "hub/base/check.h"
#include "hub/shm/slot_allocator.h"

/* `ref` must be mapped. */
static inline struct hub_slot_allocator_record *hub_slot_allocator_record_of(
    const struct hub_slot_allocator *allocator, uint32_t ref) REQUIRES(allocator->lock)
{
    struct hub_slot_allocator_record *records =
        allocator->map.extents[hub_slot_ref_extent(ref)].records;

    return &records[hub_slot_ref_index(ref)];
}

static inline struct hub_slot_allocator_class *hub_slot_allocator_class_of(
    const struct hub_slot_allocator *allocator, uint32_t ref) REQUIRES(allocator->lock)
{
    return &allocator->of[ref >> 24];
}

/* Records a changed number of granted slots: half of them, or of the guest's share if that is less,
 * may be held for long. */
void hub_slot_allocator_note_granted(struct hub_slot_allocator *allocator, uint32_t c,
                                     uint32_t peer) REQUIRES(allocator->lock);

/* Moves a slot into the reserve that a guest claims to return. False if the records say that the
 * guest does not have it. */
bool hub_slot_allocator_take_back(struct hub_slot_allocator *allocator, uint32_t ref)
    REQUIRES(allocator->lock);

/* Collects the slots that guests pushed for the host. Returns 0 or RAPAHUB_EPROTOCOL. */
int hub_slot_allocator_gather(struct hub_slot_allocator *allocator, uint32_t c)
    REQUIRES(allocator->lock);

/* Makes sure that the class has a slot in reserve, by growing if necessary. False if it has
 * none. */
bool hub_slot_allocator_replenish(struct hub_slot_allocator *allocator, uint32_t c)
    REQUIRES(allocator->lock);

#endif

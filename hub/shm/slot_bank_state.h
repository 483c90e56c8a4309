/* SPDX-License-Identifier: Apache-2.0 */
/* slot_bank_state: what the two halves of the bank share: slot_bank lends, reads and grows,
 * slot_grants grants slots to guests and takes them back. Not for others. */
#ifndef HUB_SHM_SLOT_BANK_STATE_H
#define HUB_SHM_SLOT_BANK_STATE_H

#include "hub/base/check.h"
#include "hub/shm/slot_bank.h"

/* Of a ref that is there. */
static inline struct hub_bank_record *hub_slot_bank_record_of(const struct hub_slot_bank *bank,
                                                              uint32_t ref) REQUIRES(bank->lock)
{
    struct hub_bank_record *records = bank->map.extents[hub_slot_ref_extent(ref)].records;

    return &records[hub_slot_ref_index(ref)];
}

static inline struct hub_bank_class *hub_slot_bank_class_of(const struct hub_slot_bank *bank,
                                                            uint32_t ref) REQUIRES(bank->lock)
{
    return &bank->of[ref >> 24];
}

/* What is granted has changed: half of that may be held for long, of a share at most. */
void hub_slot_bank_note_granted(struct hub_slot_bank *bank, uint32_t c, uint32_t peer)
    REQUIRES(bank->lock);

/* To the reserve, from a guest that says it has it: false where the records say that it has not. */
bool hub_slot_bank_take_back(struct hub_slot_bank *bank, uint32_t ref) REQUIRES(bank->lock);

/* Takes what guests pushed for us: 0, or RAPAHUB_EPROTOCOL. */
int hub_slot_bank_gather(struct hub_slot_bank *bank, uint32_t c) REQUIRES(bank->lock);

/* Is there one in the reserve, now or after the class has grown? */
bool hub_slot_bank_replenish(struct hub_slot_bank *bank, uint32_t c) REQUIRES(bank->lock);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* free_slots: how many slots are free, of all sizes. */
#ifndef TESTS_UNIT_SHM_FREE_SLOTS_H
#define TESTS_UNIT_SHM_FREE_SLOTS_H

#include "hub/shm/slots.h"

static inline uint32_t free_slots_of(struct hub_slots *slots)
{
    struct hub_slot_counts counts;

    hub_slots_count(slots, &counts);
    return counts.free;
}

#endif

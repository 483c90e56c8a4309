/* SPDX-License-Identifier: Apache-2.0 */
/* region_lease: who holds what in a region, and what it intends. The lock of a lease, not what it
 * says, proves whether its holder lives.
 *
 * States: FREE -> GRANTING -> HELD -> FREE by its holder, or HELD -> REAPING -> FREE by a reaper; a
 * GRANTING whose granter died becomes FREE. All but the intent changes under TABLE only.
 * r[impl region.lease] */
#ifndef HUB_BUS_REGION_LEASE_H
#define HUB_BUS_REGION_LEASE_H

#include "hub/bus/region.h"

#define HUB_LEASE_NONE UINT32_MAX

/* The proof that the holder of a lease is dead. Only hub_region_lease_prove makes it. */
struct hub_dead {
    uint32_t lease;
};

static inline enum hub_lease_state hub_region_lease_state(uint64_t owner)
{
    return (enum hub_lease_state)(owner & 0xFF);
}

static inline uint32_t hub_region_lease_role(uint64_t owner)
{
    return (uint32_t)(owner >> 8 & 0xFF);
}

static inline int32_t hub_region_lease_pid(uint64_t owner)
{
    return (int32_t)(owner >> 32);
}

/* The word of a lease that becomes free: its epoch is one more. */
static inline uint64_t hub_region_lease_next(uint64_t owner)
{
    uint64_t epoch = ((owner >> 16) + 1) & 0xFFFF;

    return (owner & UINT64_C(0xFFFFFFFF00000000)) | epoch << 16 | HUB_LEASE_FREE;
}

/* An intent covers `count` positions from `first` on; 0: none. */
struct hub_intent {
    uint64_t first;
    uint32_t count;
};

static inline uint64_t hub_region_lease_intend(uint64_t position)
{
    return UINT64_C(1) << 56 | (position + 1);
}

/* Reads what a lease intends; any word is bounded. */
static inline struct hub_intent hub_region_lease_intent(const struct hub_region_lease *lease)
{
    uint64_t word = hub_observe64(&lease->intent);
    uint64_t first = word & ((UINT64_C(1) << 56) - 1);
    uint32_t count = (uint32_t)(word >> 56);

    if (first == 0)
        return (struct hub_intent){0, 0};
    return (struct hub_intent){first - 1,
                               count < HUB_REGION_CLAIM_MAX ? count : HUB_REGION_CLAIM_MAX};
}

/* Says whether the intent of a held lease other than `but` covers a position, and of which one. */
uint32_t hub_region_lease_covering(const struct rapahub_region *region, uint64_t position,
                                   uint32_t but);

/* Under TABLE: grants a lease to this process. RAPAHUB_EFULL: all are held. */
int hub_region_lease_grant(struct rapahub_region *region, enum hub_lease_role role, uint32_t *out);

/* Notes that a lease which another process granted for this one is held here: before anything else
 * is done with the region, which would find its lock free. */
void hub_region_lease_adopt(struct rapahub_region *region, uint32_t index);

/* Under TABLE: gives back a lease of this process, whose intent is none. */
void hub_region_lease_release(struct rapahub_region *region, uint32_t index);

/* Says whether a lease that is not free has no living holder. Any thread. */
bool hub_region_lease_prove(const struct rapahub_region *region, uint32_t index,
                            struct hub_dead *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/pool.h"

#include "cluster/base/ids.h"
#include "hub/base/check.h"

#define SLOTS_LEAST 4096

/* r[impl cluster.pool.states] */
const struct hub_states cluster_pool_states = {
    "cluster.pool",
    {[CLUSTER_POOL_CREATING] = {"CREATING",
                                HUB_TO(CLUSTER_POOL_ACTIVE) | HUB_TO(CLUSTER_POOL_DESTROYING)},
     [CLUSTER_POOL_ACTIVE] = {"ACTIVE",
                              HUB_TO(CLUSTER_POOL_UPGRADING) | HUB_TO(CLUSTER_POOL_DESTROYING)},
     [CLUSTER_POOL_UPGRADING] = {"UPGRADING",
                                 HUB_TO(CLUSTER_POOL_ACTIVE) | HUB_TO(CLUSTER_POOL_DESTROYING)},
     [CLUSTER_POOL_DESTROYING] = {"DESTROYING", 0}}};

static uint32_t slots_of(uint32_t containers)
{
    return (SLOTS_LEAST + containers - 1) / containers * containers;
}

struct cluster_pool_slots cluster_pool_new_slots(uint32_t containers)
{
    CHECK(containers > 0 && containers <= CLUSTER_CONTAINERS_MAX);
    return (struct cluster_pool_slots){.count = slots_of(containers), .containers = containers};
}

bool cluster_pool_has_sound_slots(const struct cluster_pool_slots *slots)
{
    if (slots->containers == 0 || slots->containers > CLUSTER_CONTAINERS_MAX ||
        slots->count < SLOTS_LEAST || slots->count > CLUSTER_POOL_SLOTS_MAX)
        return false;
    if (!slots->of)
        return slots->count == slots_of(slots->containers);
    for (uint32_t i = 0; i < slots->count; i++)
        if (slots->of[i] >= slots->containers)
            return false;
    return true;
}

/* r[impl cluster.pool.slots] */
uint32_t cluster_pool_container(const struct cluster_pool_slots *slots, uint64_t hash)
{
    uint32_t slot = (uint32_t)(hash % slots->count);

    return slots->of ? slots->of[slot] : slot % slots->containers;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pool: the states of a pool, and which of its containers a hash leads to. */
#ifndef CLUSTER_BASE_POOL_H
#define CLUSTER_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/states.h"

enum cluster_pool_state {
    CLUSTER_POOL_CREATING,
    CLUSTER_POOL_ACTIVE,
    CLUSTER_POOL_UPGRADING,
    CLUSTER_POOL_DESTROYING,
    CLUSTER_POOL_STATES
};

extern const struct hub_states cluster_pool_states;

/* A multiple of the containers of before, at least 4,096: at most this. */
#define CLUSTER_POOL_SLOTS_MAX 8190

/* A hash belongs to the slot with the number of its rest; the slot says the container. The number
 * of slots stays as it was when the pool was created. */
struct cluster_pool_slots {
    const uint16_t *of; /* container of each slot; NULL: as at creation, slot i is of i mod first */
    uint32_t count;     /* slots */
    uint32_t containers; /* now */
};

/* The slots of a new pool of 1 to 4,096 containers: so many that each container has as many as any
 * other, and that a hash leads to container `hash mod containers`. */
struct cluster_pool_slots cluster_pool_new_slots(uint32_t containers);

/* Says whether what was read may be such slots: a number of them that some new pool has, and none
 * of a container that is not there. */
bool cluster_pool_has_sound_slots(const struct cluster_pool_slots *slots);

/* Returns the container of a hash; the slots are sound. */
uint32_t cluster_pool_container(const struct cluster_pool_slots *slots, uint64_t hash);

#endif

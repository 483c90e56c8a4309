/* SPDX-License-Identifier: Apache-2.0 */
/* group: a segment and the guests in it: one for all trusted guests of a host, and one for each
 * life of every other guest. Owner thread. */
#ifndef HOST_GROUP_H
#define HOST_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/segment.h"
#include "hub/shm/slot_pool.h"

struct host_group {
    uint64_t number; /* unique in the host, never used again */
    struct hub_segment *segment;
    struct hub_slot_pool pool; /* the host's own slots */
    bool shared;
    uint32_t guests; /* entries in use */
};

/* A segment of its own for one guest, or one for `limits->guests_max`. */
int host_group_create(const struct hub_limits *limits, bool shared, uint64_t number,
                      struct host_group **out);

/* Nobody may be in it. Accepts NULL. */
void host_group_release(struct host_group **group);

/* Reserves an entry for a guest; in a segment of its own `life`, from 1 on, becomes its epoch. */
int host_group_enter(struct host_group *group, uint32_t life, uint32_t *peer, uint32_t *epoch);

/* The entry is Empty again, all it held is back. Only after proof of death. */
void host_group_leave(struct host_group *group, uint32_t peer);

/* The entry was reserved, and nobody ever was there. */
void host_group_abandon(struct host_group *group, uint32_t peer);

#endif

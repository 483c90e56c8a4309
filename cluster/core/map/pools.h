/* SPDX-License-Identifier: Apache-2.0 */
/* pools: the pools that the node knows, with what a call needs to know of its pool: how many
 * containers it has, which methods, and which of them may run twice. All of it comes from the
 * pool's record, so it is there while no container is.
 */
#ifndef CLUSTER_CORE_MAP_POOLS_H
#define CLUSTER_CORE_MAP_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/wire/pool_spec.h"
#include "cluster/wire/record.h"

struct cluster_pools;

struct cluster_pools_pool {
    uint64_t pool;
    uint64_t revision; /* its record's; 0: it is not in the metastore yet */
    uint32_t place;    /* in the table */
    uint32_t containers;
    uint32_t methods;
    uint8_t state; /* enum cluster_pool_state */
    uint8_t durability, on_daemon_death;
    uint8_t copies, min_copies; /* holders of a copy, the owner included; 0: there are no copies */
    char name[CLUSTER_KEYS_NAME_MAX + 1];
};

struct cluster_pools_method {
    uint64_t id;
    bool repeat;  /* it may run twice */
    bool outside; /* it has effects beyond the state of its container */
};

/* Makes a table of at most `max` pools. -ENOMEM. */
int cluster_pools_create(uint32_t max, uint64_t secret, struct cluster_pools **out);
void cluster_pools_release(struct cluster_pools **pools);

/* Takes what a record says, which was read, with the revision of its last put. A record that is not
 * newer than the one of before is left. RAPAHUB_EFORMAT for one that does not fit itself,
 * RAPAHUB_EFULL where there are too many pools; then nothing has changed. */
int cluster_pools_put(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
                      const struct cluster_record_pool *record);

/* Its record was put again at this revision, with this state and else as it was. The pool is known.
 */
void cluster_pools_set_state(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
                             enum cluster_pool_state state);

/* Forgets a pool, if it is known. */
void cluster_pools_remove(struct cluster_pools *pools, uint64_t pool);

/* Return a pool, or NULL. It is good until the next change. After place 0 comes the first. */
const struct cluster_pools_pool *cluster_pools_find(const struct cluster_pools *pools,
                                                    uint64_t pool);
const struct cluster_pools_pool *cluster_pools_named(const struct cluster_pools *pools,
                                                     struct rapahub_string name);
const struct cluster_pools_pool *cluster_pools_after(const struct cluster_pools *pools,
                                                     uint32_t place);

/* Returns the method with this id, or NULL. */
const struct cluster_pools_method *cluster_pools_method(const struct cluster_pools *pools,
                                                        const struct cluster_pools_pool *pool,
                                                        uint64_t id);

/* Returns the record of a pool. Its views are good until the next change. */
struct cluster_record_pool cluster_pools_record(const struct cluster_pools *pools,
                                                const struct cluster_pools_pool *pool);

/* Returns the container that a hash leads to. */
uint32_t cluster_pools_container(const struct cluster_pools *pools,
                                 const struct cluster_pools_pool *pool, uint64_t hash);

#endif

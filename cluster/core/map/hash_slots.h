/* SPDX-License-Identifier: Apache-2.0 */
/* hash_slots: which container of a pool has a hash, of each pool that the node knows. Pools are
 * named by their place in the table of pools, from 1.
 */
#ifndef CLUSTER_CORE_MAP_HASH_SLOTS_H
#define CLUSTER_CORE_MAP_HASH_SLOTS_H

#include <stdint.h>

#include "cluster/wire/record.h"

struct cluster_hash_slots;

/* Makes the slots of at most `pools` pools. -ENOMEM. */
int cluster_hash_slots_create(uint32_t pools, struct cluster_hash_slots **out);
void cluster_hash_slots_release(struct cluster_hash_slots **slots);

/* Says whether a pool may have the slots of its record, which was read: RAPAHUB_EFORMAT. */
int cluster_hash_slots_check(struct cluster_hash_slots *slots,
                             const struct cluster_record_pool *record);

/* Takes the slots of a pool from its record, which was read. RAPAHUB_EFORMAT where no pool has such
 * slots; then those of before stay. */
int cluster_hash_slots_set(struct cluster_hash_slots *slots, uint32_t place,
                           const struct cluster_record_pool *record);

/* Returns the container of a hash. The pool's slots are set. */
uint32_t cluster_hash_slots_container(const struct cluster_hash_slots *slots, uint32_t place,
                                      uint64_t hash);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pool_spec_of: specs of pools, as people write them. */
#ifndef TESTS_SIMULATION_CLUSTER_POOL_SPEC_OF_H
#define TESTS_SIMULATION_CLUSTER_POOL_SPEC_OF_H

#include "cluster/core/ops/orders.h"

struct pool_spec_of_what {
    uint32_t name; /* pools a, b, c ... */
    uint32_t containers;
    uint8_t durability; /* enum cluster_pool_durability */
};

/* Writes the order APPLY of such a pool, with the record of its module of this revision. Its views
 * are good until the next. */
struct cluster_orders_order pool_spec_of(const struct pool_spec_of_what *what, uint64_t number,
                                         uint64_t module_revision);

/* The key of the module of all these pools, and its record. That is good until the next. */
struct cluster_key pool_spec_of_module(void);
struct rapahub_bytes pool_spec_of_manifest(void);

/* Returns the name of such a pool. */
struct rapahub_string pool_spec_of_name(uint32_t name);

#endif

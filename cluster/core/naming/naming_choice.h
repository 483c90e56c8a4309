/* SPDX-License-Identifier: Apache-2.0 */
/* naming_choice: what the record of the holders of one container is to be next. A pure function of
 * what is known: the pool, the entry, the nodes, and the record as it is.
 */
#ifndef CLUSTER_CORE_NAMING_NAMING_CHOICE_H
#define CLUSTER_CORE_NAMING_NAMING_CHOICE_H

#include "cluster/core/copies/holders.h"
#include "cluster/core/naming/dead_nodes.h"
#include "cluster/core/ops/context.h"

struct cluster_naming_choice {
    const struct cluster_context *context;
    const struct cluster_dead_nodes *dead;
    const struct cluster_pools_pool *pool;
    const struct cluster_pool_spec *spec;
    const struct cluster_address *address;
    const struct cluster_holders_row *row; /* NULL: there is no record */
};

/* The record, in memory of its own. */
struct cluster_naming_next {
    uint32_t joining, count;
    uint32_t nodes[CLUSTER_RECORD_HOLDERS_MAX];
};

/* Says whether the record is to be changed, by one step: a node joins, one that has a full copy of
 * this epoch is named, or one is named no more. */
bool cluster_naming_choice_make(const struct cluster_naming_choice *choice,
                                struct cluster_naming_next *out);

#endif

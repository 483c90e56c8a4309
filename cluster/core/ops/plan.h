/* SPDX-License-Identifier: Apache-2.0 */
/* plan: one step of operations: the entries, the operations and the pool that a transaction
 * changes, all of them or none. It is made from what the core knows; when its transaction has not
 * happened it is forgotten, and made anew from what is known then.
 */
#ifndef CLUSTER_CORE_OPS_PLAN_H
#define CLUSTER_CORE_OPS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/pool.h"
#include "cluster/core/map/address_map.h"
#include "cluster/core/nodes/recoveries.h"
#include "cluster/core/ops/operations.h"
#include "cluster/wire/delta.h"

#define CLUSTER_PLAN_OPERATIONS_MAX 4

struct cluster_plan_operation {
    uint32_t place;
    uint32_t state; /* enum cluster_operation_state; NEW: it is forgotten */
    int32_t result;
    char text[CLUSTER_OPERATIONS_TEXT_MAX + 1];
};

enum cluster_plan_pool { CLUSTER_PLAN_NO_POOL, CLUSTER_PLAN_PUT_POOL, CLUSTER_PLAN_DELETE_POOL };

enum cluster_plan_recovery {
    CLUSTER_PLAN_NO_RECOVERY,
    CLUSTER_PLAN_FENCE, /* the session ends, its node is fenced, and the record is new */
    CLUSTER_PLAN_ENDED, /* the node has ended its session itself, and the record is new */
    CLUSTER_PLAN_PUT_RECOVERY,
    CLUSTER_PLAN_END_RECOVERY /* the record goes */
};

struct cluster_plan {
    uint32_t changes_count, operations_count;
    uint32_t recovery;     /* its place in recoveries.h */
    uint64_t session;      /* that of the recovery */
    uint8_t with_recovery; /* enum cluster_plan_recovery */
    uint64_t pool;         /* that is put or deleted */
    uint8_t with_pool;     /* enum cluster_plan_pool */
    uint8_t node_state;    /* enum cluster_record_node_state that `node` gets; 0: none does */
    uint32_t node;
    uint8_t pool_state;                            /* enum cluster_pool_state, where it is put */
    uint64_t revisions[CLUSTER_DELTA_CHANGES_MAX]; /* each entry's before; 0: there was none */
    struct cluster_delta_change changes[CLUSTER_DELTA_CHANGES_MAX];
    struct cluster_plan_operation operations[CLUSTER_PLAN_OPERATIONS_MAX];
};

void cluster_plan_init(struct cluster_plan *plan);
bool cluster_plan_is_empty(const struct cluster_plan *plan);

/* Returns how many more entries it may change. */
uint32_t cluster_plan_space(const struct cluster_plan *plan);

/* Adds a change of an entry that the map has to `after`, which may follow it; NULL: it goes. There
 * is space. */
void cluster_plan_change(struct cluster_plan *plan, const struct cluster_address *address,
                         const struct cluster_entry *after);

/* Adds a new entry. There is space. */
void cluster_plan_entry(struct cluster_plan *plan, uint64_t pool, uint32_t container,
                        const struct cluster_entry *entry);

/* Adds a change of an operation, at most CLUSTER_PLAN_OPERATIONS_MAX. */
void cluster_plan_move(struct cluster_plan *plan, uint32_t place,
                       enum cluster_operation_state state, int32_t result, const char *text);

/* Adds that an operation is forgotten. */
void cluster_plan_forget(struct cluster_plan *plan, uint32_t place);

/* Adds what becomes of a recovery. */
void cluster_plan_recovery(struct cluster_plan *plan, const struct cluster_recovery *recovery,
                           enum cluster_plan_recovery how);

/* Adds that the record of a node is put with this state. */
void cluster_plan_node(struct cluster_plan *plan, uint32_t node, uint8_t state);

/* Adds that the pool is put with this state, or that it is deleted, with its name. */
void cluster_plan_put_pool(struct cluster_plan *plan, uint64_t pool, enum cluster_pool_state state);
void cluster_plan_delete_pool(struct cluster_plan *plan, uint64_t pool);

#endif

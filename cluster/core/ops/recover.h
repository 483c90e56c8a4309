/* SPDX-License-Identifier: Apache-2.0 */
/* recover: containers of a node that is dead, for certain, or that leaves the cluster, begin on
 * other nodes. The node that leads ends the session of the dead one first; from then on nothing
 * that it wrote, or still writes, counts. Then it gives each container another owner, a few at a
 * time, and that one begins it. A container of which anything is kept on the disk of the dead node
 * alone waits for that node, until a person gives up what is there.
 */
#ifndef CLUSTER_CORE_OPS_RECOVER_H
#define CLUSTER_CORE_OPS_RECOVER_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/orders.h"
#include "cluster/core/ops/placement.h"
#include "cluster/core/ops/plan.h"

#define CLUSTER_RECOVER_NODE_MAX 8  /* containers that recover on one node, at once */
#define CLUSTER_RECOVER_MAX      64 /* on all */
#define CLUSTER_RECOVER_TXN_MAX  30 /* in a transaction, which also compares where each goes to */

/* So long a pool waits whose containers are rather to begin again on their node: after a death that
 * its warden has proven, and is to be followed by the next life of the daemon; and after an end in
 * order, of the node, or, at the start of the node that leads, of any. */
#define CLUSTER_RECOVER_GRACE_NS  (UINT64_C(2) * 1000000000)
#define CLUSTER_RECOVER_WINDOW_NS (UINT64_C(60) * 1000000000)

/* One look at all entries. */
struct cluster_recover {
    struct cluster_context *context;
    struct cluster_plan *plan; /* NULL: nothing can be written */
    uint32_t recovering;       /* containers, on all nodes */
    uint32_t given;            /* by this look */
    uint64_t placed;           /* the pool that `placement` is of; 0: none yet */
    struct cluster_placement placement;
};

/* Begins a look, at a node that leads; counts what recovers. */
void cluster_recover_begin(struct cluster_recover *recover, struct cluster_context *context,
                           struct cluster_plan *plan);

/* Says whether the owner of an entry is of a session that is over; notes that, where nothing else
 * has told of it. */
bool cluster_recover_is_lost(struct cluster_recover *recover,
                             const struct cluster_address *address);

/* Looks at such an entry: plans what becomes of it, or counts what it waits for. Its pool is not
 * being removed. */
void cluster_recover_entry(struct cluster_recover *recover, const struct cluster_pools_pool *pool,
                           const struct cluster_address *address);

/* Ends a look: plans what becomes of a recovery, where nothing else is planned. */
void cluster_recover_end(struct cluster_recover *recover);

/* Says whether only the disk of its node has what a container keeps. */
bool cluster_recover_would_lose(const struct cluster_context *context,
                                const struct cluster_pools_pool *pool,
                                const struct cluster_address *address);

/* Says that a session of a node is over: its warden has proven that. RAPAHUB_ESTALE: the node has
 * another session; it is dead no more, or never was. -ENOENT: there is no such node. */
int cluster_recover_death(struct cluster_context *context, uint32_t node, uint64_t session,
                          bool final);

/* An order DEAD. `operation` gets what the order waits for; 0: nothing is to be done. -EINVAL: it
 * is this node; -ENOENT: there is no such node. */
int cluster_recover_order(struct cluster_context *context, const struct cluster_orders_order *order,
                          uint64_t *operation);

/* Ends orders that wait for a recovery which is durable, or is over. */
void cluster_recover_settle(struct cluster_context *context, struct cluster_orders *orders);

/* The plan of the recovery at a place has not happened, with this: orders that wait for it end, and
 * it is forgotten where a person said it, who may say it again. */
void cluster_recover_give_up(struct cluster_context *context, struct cluster_orders *orders,
                             uint32_t place, const struct cluster_orders_outcome *end);

#endif

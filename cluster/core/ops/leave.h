/* SPDX-License-Identifier: Apache-2.0 */
/* leave: a node is taken out of the cluster. The node that leads makes its record DRAINING, upon
 * which it ends in order; what it had recovers, see recover.h; then its record is LEFT, for ever.
 */
#ifndef CLUSTER_CORE_OPS_LEAVE_H
#define CLUSTER_CORE_OPS_LEAVE_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/orders.h"
#include "cluster/core/ops/plan.h"

/* An order LEAVE. `operation` gets what the order waits for; 0: it has left already. -EINVAL: it is
 * this node; -ENOENT: there is no such node. RAPAHUB_ESTATE, RAPAHUB_ENOCOPY: it has something that
 * would be lost, or that no other node may have. */
int cluster_leave_order(struct cluster_context *context, const struct cluster_orders_order *order,
                        uint64_t *operation);

/* Ends orders that wait for a node which has left, and plans what becomes of one that leaves, where
 * nothing else is planned. */
void cluster_leave_look(struct cluster_context *context, struct cluster_orders *orders,
                        struct cluster_plan *plan);

/* The plan that a node is to leave has not happened, with this: it stays, and orders end. */
void cluster_leave_give_up(struct cluster_context *context, struct cluster_orders *orders,
                           uint32_t number, const struct cluster_orders_outcome *outcome);

#endif

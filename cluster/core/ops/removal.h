/* SPDX-License-Identifier: Apache-2.0 */
/* removal: a pool goes. Its containers end first, with their folders and their copies, then their
 * entries, and at last its record and its name; so nothing that it had is left to a pool that gets
 * the name after it.
 */
#ifndef CLUSTER_CORE_OPS_REMOVAL_H
#define CLUSTER_CORE_OPS_REMOVAL_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/lives.h"
#include "cluster/core/ops/orders.h"
#include "cluster/core/ops/plan.h"

/* Begins the operation that an order DELETE asks for, or finds the one that has done it. Returns
 * its place. RAPAHUB_ENOPOOL: there is no such pool; RAPAHUB_EFULL: there are too many operations.
 */
int cluster_removal_order(struct cluster_context *context, struct cluster_operations *operations,
                          const struct cluster_orders_order *order, uint32_t *out);

/* Goes on with a removal, or with the undoing of a creation: asks the containers to go, and plans
 * what can be written. `plan` is NULL where nothing can. */
void cluster_removal_step(struct cluster_context *context, struct cluster_operations *operations,
                          struct cluster_lives *lives, uint32_t place, struct cluster_plan *plan);

#endif

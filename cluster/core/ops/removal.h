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
#include "cluster/core/ops/restart.h"

/* Begins the operation that an order DELETE asks for, or finds the one that has done it. Returns
 * its place. RAPAHUB_ENOPOOL: there is no such pool; RAPAHUB_EFULL: there are too many operations.
 */
int cluster_removal_order(struct cluster_context *context, struct cluster_operations *operations,
                          const struct cluster_orders_order *order, uint32_t *out);

/* A pool is being removed: asks a container of it to go, where this node holds it, and tells the
 * node that leads, where this one does not. */
void cluster_removal_entry(struct cluster_context *context, struct cluster_lives *lives,
                           const struct cluster_address *address);

/* Goes on with a removal, or with the undoing of a creation: plans what is to be written once the
 * containers are gone. `plan` is NULL where nothing can. */
void cluster_removal_step(const struct cluster_context *context,
                          const struct cluster_restart_parts *parts,
                          struct cluster_operations *operations, uint32_t place,
                          struct cluster_plan *plan);

#endif

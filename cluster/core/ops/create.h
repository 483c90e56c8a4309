/* SPDX-License-Identifier: Apache-2.0 */
/* create: a pool comes to be, with all of its containers, or nothing of it stays.
 */
#ifndef CLUSTER_CORE_OPS_CREATE_H
#define CLUSTER_CORE_OPS_CREATE_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/orders.h"
#include "cluster/core/ops/plan.h"
#include "cluster/core/ops/restart.h"

/* A creation that has not ended by then is undone. */
#define CLUSTER_CREATE_BUDGET_MS      60000
#define CLUSTER_CREATE_BUDGET_EACH_MS 250 /* more for each container */

/* Begins the operation that an order APPLY asks for, or finds the one that has made its pool.
 * Returns its place; 0: the pool is there, and its operation is forgotten.
 *
 * -EINVAL, RAPAHUB_EFORMAT: it is no spec, or its module is another one; RAPAHUB_EDIFFERS: a pool
 * of the name has another spec, and the text has the keys; RAPAHUB_EAGAIN: one is being removed;
 * RAPAHUB_EFULL: there are too many pools, containers or operations. */
int cluster_create_order(struct cluster_context *context, struct cluster_operations *operations,
                         const struct cluster_orders_order *order, uint32_t *out);

/* Goes on with a creation: plans what is to be written. */
void cluster_create_step(const struct cluster_context *context,
                         const struct cluster_restart_parts *parts,
                         const struct cluster_operations *operations, uint32_t place,
                         struct cluster_plan *plan);

/* The metastore has this number of the next pool. RAPAHUB_EFORMAT: it cannot be. */
int cluster_create_take_next(struct cluster_context *context, uint64_t next, uint64_t revision);

/* Forgets a creation that never was in the metastore, with its pool. */
void cluster_create_forget(struct cluster_context *context, struct cluster_operations *operations,
                           uint32_t place);

#endif

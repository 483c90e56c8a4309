/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine: a container that was left alone, because its begin failed too often, is released by a
 * person: it begins once more. */
#ifndef CLUSTER_CORE_OPS_QUARANTINE_H
#define CLUSTER_CORE_OPS_QUARANTINE_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/lives.h"
#include "cluster/core/ops/orders.h"
#include "cluster/core/ops/plan.h"
#include "cluster/core/ops/restart.h"

/* Begins the operation that an order RELEASE asks for, or finds the open one. Returns its place; 0:
 * the container is not quarantined. RAPAHUB_ENOPOOL, -EINVAL: there is no such pool, or container;
 * RAPAHUB_EAGAIN: the node that holds it does not run; RAPAHUB_EFULL: there are too many
 * operations. */
int cluster_quarantine_order(struct cluster_context *context, struct cluster_operations *operations,
                             const struct cluster_orders_order *order, uint32_t *out);

/* Goes on with a release: plans what is to be written. */
void cluster_quarantine_step(const struct cluster_context *context,
                             const struct cluster_restart_parts *parts,
                             const struct cluster_operations *operations, uint32_t place,
                             struct cluster_plan *plan);

#endif

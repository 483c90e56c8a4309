/* SPDX-License-Identifier: Apache-2.0 */
/* pool_orders: pools are applied, removed, released, and waited for. Each question is checked, and
 * becomes an order for the core. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_POOL_ORDERS_H
#define CLUSTER_NODE_SERVICES_POOL_ORDERS_H

#include <stdbool.h>

#include "cluster/core/base/effects.h"
#include "cluster/node/services/asking.h"

/* Take a question. A negative return refuses it, and the asker stays the caller's; else it is
 * answered once. `check`: only what would refuse it is looked for. */
int cluster_pool_orders_apply(struct cluster_asking *asking, struct cluster_asker *asker,
                              struct rapahub_bytes spec, bool check);
int cluster_pool_orders_remove(struct cluster_asking *asking, struct cluster_asker *asker,
                               struct rapahub_string pool);
int cluster_pool_orders_release(struct cluster_asking *asking, struct cluster_asker *asker,
                                struct rapahub_string pool, uint32_t container);
int cluster_pool_orders_wait(struct cluster_asking *asking, struct cluster_asker *asker,
                             uint64_t operation, uint64_t timeout_ns);

/* The core has ended an order. */
void cluster_pool_orders_ordered(struct cluster_asking *asking,
                                 const struct cluster_effect *effect);

/* The asker of an order waits no more. */
void cluster_pool_orders_cancel(struct cluster_asking *asking, uint64_t order);

#endif

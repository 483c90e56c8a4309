/* SPDX-License-Identifier: Apache-2.0 */
/* module_orders: modules are pushed in parts, listed and removed. A module that was pushed is
 * looked at, and recorded under the name and version that it gives itself. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_MODULE_ORDERS_H
#define CLUSTER_NODE_SERVICES_MODULE_ORDERS_H

#include "cluster/node/services/asking.h"

/* Take a question, as those of pool_orders. The answer to a push is whether the module is there,
 * with the last of its parts. */
struct cluster_module_orders_part {
    struct rapahub_string digest; /* 64 hexadecimal digits */
    uint64_t offset, size;        /* size: of the module */
    struct rapahub_bytes bytes;
};
int cluster_module_orders_push(struct cluster_asking *asking, struct cluster_asker *asker,
                               const struct cluster_module_orders_part *part);
/* The list is that of the metastore, or what was told last where the metastore does not answer. */
int cluster_module_orders_list(struct cluster_asking *asking, struct cluster_asker *asker);

/* Asks for it before anybody does, so that there is one if the metastore goes away. */
int cluster_module_orders_begin(struct cluster_asking *asking);
int cluster_module_orders_remove(struct cluster_asking *asking, struct cluster_asker *asker,
                                 struct rapahub_string name, struct rapahub_string version);

#endif

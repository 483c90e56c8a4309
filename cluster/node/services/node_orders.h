/* SPDX-License-Identifier: Apache-2.0 */
/* node_orders: what people order of nodes. Owner. */
#ifndef CLUSTER_NODE_SERVICES_NODE_ORDERS_H
#define CLUSTER_NODE_SERVICES_NODE_ORDERS_H

#include "cluster/node/services/asking.h"
#include "hub/base/bytes.h"

/* Says to the core that a node is dead. The arguments are its number, and whether what only its
 * disk has is given up. The answer comes when that is durable. Refused while anything says that the
 * node lives. RAPAHUB_ESTATE: it does, or that is not sure yet. */
int cluster_node_orders_dead(struct cluster_asking *asking, struct cluster_asker *asker,
                             struct hub_reader *arguments);

/* Says to the core that a node is to leave the cluster. The arguments are its number, and whether
 * what only its disk has is given up. The answer comes when it has left. RAPAHUB_ESTATE: it does
 * not answer. */
int cluster_node_orders_leave(struct cluster_asking *asking, struct cluster_asker *asker,
                              struct hub_reader *arguments);

#endif

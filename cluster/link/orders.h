/* SPDX-License-Identifier: Apache-2.0 */
/* orders: the pool that each node offers to its clients, container 0, and those of its methods that
 * a client calls by itself.
 */
#ifndef CLUSTER_LINK_ORDERS_H
#define CLUSTER_LINK_ORDERS_H

#include <rapahub/id.h>

#define CLUSTER_ORDERS_POOL ((struct rapahub_pool_id){UINT32_MAX, 16})

/* The number of the pool with a name, as cluster_ids_pool makes it; RAPAHUB_ENOPOOL. */
#define CLUSTER_ORDERS_POOL_ID "pool_id(string) -> u64"

/* The name of a node that was given none, and the end of its socket's name: NAME.node. */
#define CLUSTER_ORDERS_NODE   "node"
#define CLUSTER_ORDERS_SOCKET ".node"

#endif

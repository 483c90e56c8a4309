/* SPDX-License-Identifier: Apache-2.0 */
/* node_exchange: calls between this node and others go by its links. Owner.
 */
#ifndef CLUSTER_NODE_NODE_EXCHANGE_H
#define CLUSTER_NODE_NODE_EXCHANGE_H

#include "cluster/node/runner.h"

/* Makes the exchange of a node whose links, events and buffers are there. From the first step of
 * the links on, the core is told of those that are up. -ENOMEM. */
int cluster_node_exchange_begin(struct cluster_runner *runner);

/* The core is told nothing more: before the links are closed. */
void cluster_node_exchange_end(struct cluster_runner *runner);

#endif

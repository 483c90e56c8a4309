/* SPDX-License-Identifier: Apache-2.0 */
/* node_peering: calls between this node and others go by its links. Owner.
 */
#ifndef CLUSTER_NODE_NODE_PEERING_H
#define CLUSTER_NODE_NODE_PEERING_H

#include "cluster/node/runner.h"

/* Makes the peering of a node whose links, events and buffers are there. From the first step of
 * the links on, the core is told of those that are up. -ENOMEM. */
int cluster_node_peering_begin(struct cluster_runner *runner);

/* The core is told nothing more: before the links are closed. */
void cluster_node_peering_end(struct cluster_runner *runner);

#endif

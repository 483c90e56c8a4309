/* SPDX-License-Identifier: Apache-2.0 */
/* node_listing: the nodes of the cluster, as the metastore has them, with their sessions. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_NODE_LISTING_H
#define CLUSTER_NODE_SERVICES_NODE_LISTING_H

#include "cluster/node/services/asking.h"

#define CLUSTER_NODE_LISTING_MAX 1024 /* nodes that are listed: those with the lowest numbers */

/* Answers with a JSON document. A negative return refuses the question. */
int cluster_node_listing_ask(struct cluster_asking *asking, struct cluster_asker *asker);

#endif

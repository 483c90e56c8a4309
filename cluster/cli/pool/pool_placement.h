/* SPDX-License-Identifier: Apache-2.0 */
/* pool_placement: the key placement of a pool file: {zones: spread, nodes: [1, 2], not: [3]}.
 */
#ifndef CLUSTER_CLI_POOL_PLACEMENT_H
#define CLUSTER_CLI_POOL_PLACEMENT_H

#include "cluster/cli/pool/pool_draft.h"

/* RAPAHUB_ECONFIG, with the place: an unknown key, a node that is none, or one both named and
 * excluded. */
int cluster_pool_placement_read(struct cluster_pool_draft *draft, struct fy_node *value);

#endif

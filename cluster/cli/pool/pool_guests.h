/* SPDX-License-Identifier: Apache-2.0 */
/* pool_guests: the keys supervise and limits of a pool file, whose maps have keys of
 * rapahub-tree(5), as options of the pool's guests.
 */
#ifndef CLUSTER_CLI_POOL_GUESTS_H
#define CLUSTER_CLI_POOL_GUESTS_H

#include "cluster/cli/pool/pool_draft.h"

/* Read the map. RAPAHUB_ECONFIG as host/config says it, or for a key that a pool does not have. */
int cluster_pool_guests_supervise(struct cluster_pool_draft *draft, struct fy_node *value);
int cluster_pool_guests_limits(struct cluster_pool_draft *draft, struct fy_node *value);

#endif

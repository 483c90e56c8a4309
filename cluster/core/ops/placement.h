/* SPDX-License-Identifier: Apache-2.0 */
/* placement: which nodes get the containers of a new pool. Each container has an order of all
 * nodes of its own, by which one with twice the capacity is first twice as often; so a container
 * goes to the same node whichever others there are. A node that has a tenth more than its part of
 * all containers is passed over. Nodes that are not active, or have no session, get none.
 */
#ifndef CLUSTER_CORE_OPS_PLACEMENT_H
#define CLUSTER_CORE_OPS_PLACEMENT_H

#include "cluster/core/ops/context.h"

/* Says whether there are nodes that may have a pool, and space for all of its containers there;
 * `containers` gets how many it has. -EINVAL: by its placement no node may have it; RAPAHUB_EFULL:
 * there is no space. */
int cluster_placement_check(const struct cluster_context *context,
                            const struct cluster_pool_spec *spec, uint32_t *containers);

/* Says whether a node may have containers of a pool with this spec, and keep copies of them. */
bool cluster_placement_may_have(const struct cluster_context *context,
                                const struct cluster_nodes_node *node,
                                const struct cluster_pool_spec *spec);

/* Says which of two nodes is before the other in the order of a container. */
bool cluster_placement_is_before(uint64_t pool, uint32_t container,
                                 const struct cluster_nodes_node *one,
                                 const struct cluster_nodes_node *other);

struct cluster_placement {
    uint64_t pool, capacity; /* the sum of all nodes that may have it */
    uint64_t total;          /* containers of these nodes, with those that are to be placed */
    bool spread;             /* over zones */
    bool each;               /* each node gets one */
};

/* Says whether any other node may have what this one has of a pool. */
bool cluster_placement_has_other(const struct cluster_context *context,
                                 const struct cluster_pools_pool *pool, uint32_t node);

/* Begins to place containers of a pool: looks at what each node has. */
void cluster_placement_begin(const struct cluster_context *context,
                             const struct cluster_pools_pool *pool,
                             struct cluster_placement *placement);

/* Returns the node that gets a container, which counts from then on; 0: none has space. */
uint32_t cluster_placement_next(const struct cluster_context *context,
                                const struct cluster_placement *placement, uint32_t container);

#endif

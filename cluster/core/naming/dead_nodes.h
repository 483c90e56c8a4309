/* SPDX-License-Identifier: Apache-2.0 */
/* dead_nodes: the nodes that detection holds dead. It may be wrong, so nothing but redundancy
 * depends on it: such a node keeps no copies any more, or gets none. */
#ifndef CLUSTER_CORE_NAMING_DEAD_NODES_H
#define CLUSTER_CORE_NAMING_DEAD_NODES_H

#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_DEAD_NODES_MAX 257 /* a node knows no more */

struct cluster_dead_nodes {
    uint32_t count;
    uint32_t nodes[CLUSTER_DEAD_NODES_MAX];
};

/* Notes what is held of a node. Says whether that is new. If there are too many it
 * is left out. */
bool cluster_dead_nodes_note(struct cluster_dead_nodes *dead, uint32_t node, bool is_dead);
bool cluster_dead_nodes_has(const struct cluster_dead_nodes *dead, uint32_t node);

#endif

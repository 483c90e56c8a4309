/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/naming/dead_nodes.h"

/* Returns its place, or `count`. */
static uint32_t find(const struct cluster_dead_nodes *dead, uint32_t node)
{
    uint32_t i = 0;

    while (i < dead->count && dead->nodes[i] != node)
        i++;
    return i;
}

bool cluster_dead_nodes_has(const struct cluster_dead_nodes *dead, uint32_t node)
{
    return find(dead, node) < dead->count;
}

bool cluster_dead_nodes_note(struct cluster_dead_nodes *dead, uint32_t node, bool is_dead)
{
    uint32_t at = find(dead, node);

    if ((at < dead->count) == is_dead)
        return false;
    if (!is_dead)
        dead->nodes[at] = dead->nodes[--dead->count];
    else if (dead->count < CLUSTER_DEAD_NODES_MAX)
        dead->nodes[dead->count++] = node;
    else
        return false;
    return true;
}

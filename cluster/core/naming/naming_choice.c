/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/naming/naming_choice.h"

#include <string.h>

#include "cluster/core/ops/placement.h"

/* Where there is no record its one holder is the node that has what it keeps on a disk. */
static void begin(const struct cluster_naming_choice *choice, struct cluster_naming_next *out)
{
    const struct cluster_holders_row *row = choice->row;

    *out = (struct cluster_naming_next){.count = 1, .nodes = {choice->address->entry.owner}};
    if (!row)
        return;
    out->joining = row->joining;
    out->count = row->count;
    memcpy(out->nodes, row->nodes, sizeof out->nodes);
}

static bool has(const struct cluster_naming_next *next, uint32_t node)
{
    for (uint32_t i = 0; i < next->count; i++)
        if (next->nodes[i] == node)
            return true;
    return false;
}

static void put_in(struct cluster_naming_next *next, uint32_t node)
{
    uint32_t at = next->count++;

    for (; at > 0 && next->nodes[at - 1] > node; at--)
        next->nodes[at] = next->nodes[at - 1];
    next->nodes[at] = node;
}

static void take_out(struct cluster_naming_next *next, uint32_t node)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < next->count; i++)
        if (next->nodes[i] != node)
            next->nodes[kept++] = next->nodes[i];
    next->count = kept;
}

/* It is no node of the cluster any more, or will not be and has ended, or is held dead. This node
 * lives. */
static bool is_away(const struct cluster_naming_choice *choice, uint32_t node)
{
    const struct cluster_nodes_node *of = cluster_nodes_find(choice->context->nodes, node);

    return !of || of->state == CLUSTER_NODE_LEFT ||
           cluster_nodes_has_ended(choice->context->nodes, node) ||
           (node != choice->context->node && cluster_dead_nodes_has(choice->dead, node));
}

/* Only an owner that lives sends copies. While it is away nothing is gained by taking a holder out,
 * and the last one that has all might be taken. */
static bool owner_is_there(const struct cluster_naming_choice *choice)
{
    const struct cluster_entry *entry = &choice->address->entry;

    return !is_away(choice, entry->owner) &&
           cluster_context_session(choice->context, entry->owner) == entry->session;
}

static uint32_t count_there(const struct cluster_naming_choice *choice,
                            const struct cluster_naming_next *next)
{
    uint32_t there = 0;

    for (uint32_t i = 0; i < next->count; i++)
        there += !is_away(choice, next->nodes[i]);
    return there;
}

/* ---- a node joins ---- */

static bool may_join(const struct cluster_naming_choice *choice,
                     const struct cluster_naming_next *next, const struct cluster_nodes_node *node)
{
    return !has(next, node->node) && !is_away(choice, node->node) &&
           cluster_placement_may_have(choice->context, node, choice->spec);
}

/* The owner comes first, then the order of the container. r[impl cluster.hold.choice] */
static uint32_t choose_node(const struct cluster_naming_choice *choice,
                            const struct cluster_naming_next *next)
{
    const struct cluster_address *address = choice->address;
    const struct cluster_nodes_node *node, *best = NULL;
    uint32_t place = 0;

    if (!has(next, address->entry.owner))
        return address->entry.owner;
    while ((node = cluster_nodes_after(choice->context->nodes, &place)))
        if (may_join(choice, next, node) &&
            (!best || cluster_placement_is_before(address->pool, address->container, node, best)))
            best = node;
    return best ? best->node : 0;
}

/* ---- a node is named no more ---- */

/* A node that is away goes first, then the last one in the order of the container. */
static uint32_t choose_surplus(const struct cluster_naming_choice *choice,
                               const struct cluster_naming_next *next)
{
    const struct cluster_address *address = choice->address;
    const struct cluster_nodes_node *last = NULL;
    uint32_t least = choice->pool->min_copies;

    for (uint32_t i = 0; i < next->count && next->count > least; i++)
        if (next->nodes[i] != address->entry.owner && is_away(choice, next->nodes[i]))
            return next->nodes[i];
    for (uint32_t i = 0; i < next->count && next->count > choice->pool->copies; i++) {
        const struct cluster_nodes_node *node =
            cluster_nodes_find(choice->context->nodes, next->nodes[i]);

        if (node && node->node != address->entry.owner &&
            (!last || cluster_placement_is_before(address->pool, address->container, last, node)))
            last = node;
    }
    return last ? last->node : 0;
}

/* r[impl cluster.hold.name] */
static bool has_copy(const struct cluster_naming_choice *choice)
{
    const struct cluster_holders_row *row = choice->row;

    return row && row->joining != 0 && row->held == row->joining &&
           row->held_epoch == choice->address->entry.epoch;
}

/* r[impl cluster.hold.step] r[impl cluster.hold.away] */
bool cluster_naming_choice_make(const struct cluster_naming_choice *choice,
                                struct cluster_naming_next *out)
{
    uint32_t surplus;

    if (choice->address->entry.state != CLUSTER_ENTRY_ACTIVE ||
        choice->pool->state == CLUSTER_POOL_DESTROYING || !owner_is_there(choice))
        return false;
    begin(choice, out);
    if (has_copy(choice) && out->count < CLUSTER_RECORD_HOLDERS_MAX) {
        put_in(out, out->joining);
        out->joining = 0;
        return true;
    }
    if (out->joining != 0 && is_away(choice, out->joining)) {
        out->joining = 0;
        return true;
    }
    surplus = choose_surplus(choice, out);
    if (surplus != 0) {
        take_out(out, surplus);
        return true;
    }
    if (out->joining == 0 && out->count < CLUSTER_RECORD_HOLDERS_MAX &&
        (count_there(choice, out) < choice->pool->copies ||
         !has(out, choice->address->entry.owner)))
        out->joining = choose_node(choice, out);
    return out->joining != 0 && (!choice->row || out->joining != choice->row->joining);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/leave.h"

#include <rapahub/error.h>

#include "cluster/core/ops/placement.h"
#include "cluster/core/ops/recover.h"

/* ---- the order ---- */

/* Nothing is to be lost, and nothing is to wait for a node that does not come back.
 * r[impl cluster.leave.kept] */
static int check_entry(const struct cluster_context *context,
                       const struct cluster_orders_order *order,
                       const struct cluster_address *address)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);

    if (!pool || pool->state == CLUSTER_POOL_DESTROYING)
        return 0;
    if (address->entry.state == CLUSTER_ENTRY_QUARANTINED)
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.leave.kept",
                            "container %u of pool %s is quarantined on node %u: release it first, "
                            "or delete the pool",
                            address->container, pool->name, order->node);
    if (!cluster_placement_has_other(context, pool, order->node))
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.leave.kept",
                            "by its placement no other node may have pool %s: delete it first, or "
                            "have another node join that it names",
                            pool->name);
    if (!order->discard && cluster_recover_would_lose(context, pool, address))
        return rapahub_fail(RAPAHUB_ENOCOPY, "cluster.leave.kept",
                            "only the disk of node %u has what container %u of pool %s keeps: "
                            "delete the pool first, or give that up with --discard",
                            order->node, address->container, pool->name);
    return 0;
}

static int check_entries(const struct cluster_context *context,
                         const struct cluster_orders_order *order)
{
    const struct cluster_address *address;
    uint32_t place = 0;
    int status = 0;

    while (status == 0 && (address = cluster_address_map_after(context->map, &place)))
        if (cluster_entry_holder(&address->entry) == order->node)
            status = check_entry(context, order, address);
    return status;
}

/* r[impl cluster.leave.order] */
int cluster_leave_order(struct cluster_context *context, const struct cluster_orders_order *order,
                        uint64_t *operation)
{
    struct cluster_nodes_node *node = cluster_nodes_find(context->nodes, order->node);
    struct cluster_recovery *recovery = cluster_recoveries_find(context->recoveries, order->node);
    int status;

    *operation = 0;
    if (order->node == context->node)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.leave.order",
                            "node %u leads, and cannot leave while it does", order->node);
    if (!node || node->record_size == 0)
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.leave.order",
                            "the cluster has no node %u: `rapahub get nodes` lists them",
                            order->node);
    if (node->state == CLUSTER_NODE_LEFT)
        return 0;
    status = check_entries(context, order);
    if (status < 0)
        return status;
    node->discard |= order->discard;
    if (recovery) /* it has ended already */
        recovery->is.discard |= order->discard;
    node->leaves = node->state != CLUSTER_NODE_DRAINING;
    *operation = CLUSTER_RECOVERIES_LEAVE | order->node;
    return 0;
}

/* ---- its steps ---- */

static bool has_entries(const struct cluster_context *context, uint32_t node)
{
    const struct cluster_address *address;
    uint32_t place = 0;

    while ((address = cluster_address_map_after(context->map, &place)))
        if (cluster_entry_holder(&address->entry) == node)
            return true;
    return false;
}

/* r[impl cluster.leave.draining] r[impl cluster.leave.left] */
static void look_at(const struct cluster_context *context, struct cluster_plan *plan,
                    const struct cluster_nodes_node *node)
{
    if (node->record_size == 0)
        return;
    if (node->leaves)
        cluster_plan_node(plan, node->node, CLUSTER_NODE_DRAINING);
    else if (cluster_nodes_has_ended(context->nodes, node->node) &&
             !has_entries(context, node->node) &&
             !cluster_recoveries_find(context->recoveries, node->node))
        cluster_plan_node(plan, node->node, CLUSTER_NODE_LEFT);
}

void cluster_leave_look(struct cluster_context *context, struct cluster_orders *orders,
                        struct cluster_plan *plan)
{
    const struct cluster_nodes_node *node;
    uint32_t place = 0;

    while ((node = cluster_nodes_after(context->nodes, &place))) {
        if (node->state == CLUSTER_NODE_LEFT)
            cluster_orders_end_all(orders, context, CLUSTER_RECOVERIES_LEAVE | node->node, 0, "");
        if (plan && cluster_plan_is_empty(plan))
            look_at(context, plan, node);
    }
}

void cluster_leave_give_up(struct cluster_context *context, struct cluster_orders *orders,
                           uint32_t number, const struct cluster_orders_outcome *outcome)
{
    struct cluster_nodes_node *node = cluster_nodes_find(context->nodes, number);

    if (node)
        node->leaves = false;
    cluster_orders_end_all(orders, context, CLUSTER_RECOVERIES_LEAVE | number, outcome->status,
                           outcome->text);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/quarantine.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"

/* Returns the place of the open release of a container, or 0. */
static uint32_t find_open(const struct cluster_operations *operations, uint64_t pool,
                          uint32_t container)
{
    uint32_t place = 0;

    while ((place = cluster_operations_after(operations, place)) != 0) {
        const struct cluster_operations_row *row = cluster_operations_at(operations, place);

        if (row->kind == CLUSTER_OPERATION_RELEASE && row->pool == pool &&
            row->container == container && !cluster_operations_has_ended(row))
            break;
    }
    return place;
}

static bool is_quarantined(const struct cluster_address *address)
{
    return address && address->entry.state == CLUSTER_ENTRY_QUARANTINED;
}

/* It begins where it was. Returns the session of that node; 0: it has none now. */
static uint64_t session_of(const struct cluster_context *context,
                           const struct cluster_address *address)
{
    uint32_t holder = cluster_entry_holder(&address->entry);

    return cluster_context_session(context, holder != 0 ? holder : context->node);
}

int cluster_quarantine_order(struct cluster_context *context, struct cluster_operations *operations,
                             const struct cluster_orders_order *order, uint32_t *out)
{
    const struct cluster_pools_pool *pool = cluster_pools_named(context->pools, order->pool);
    const struct cluster_address *address;

    *out = 0;
    if (!pool)
        return rapahub_fail(RAPAHUB_ENOPOOL, "cluster.release.container", "no pool has this name");
    if (order->container >= pool->containers)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.release.container",
                            "pool %s has no container %u", pool->name, order->container);
    *out = find_open(operations, pool->pool, order->container);
    address = cluster_address_map_find(context->map, pool->pool, order->container);
    if (*out != 0 || !is_quarantined(address))
        return 0;
    if (session_of(context, address) == 0)
        return rapahub_fail(RAPAHUB_EAGAIN, "cluster.release.container",
                            "container %u of pool %s is on node %u, which does not run: start it",
                            order->container, pool->name, cluster_entry_holder(&address->entry));
    *out = cluster_operations_add(operations, CLUSTER_OPERATION_RELEASE, pool->pool,
                                  order->container, pool->name);
    return *out != 0 ? 0
                     : rapahub_fail(RAPAHUB_EFULL, "cluster.operation.bounds",
                                    "at most %u operations are open", CLUSTER_OPERATIONS_MAX);
}

static void plan_begin(const struct cluster_context *context, const struct cluster_address *address,
                       uint32_t place, struct cluster_plan *plan)
{
    struct cluster_entry entry = cluster_restart_raised(context, address, CLUSTER_ENTRY_RECOVERING);

    if (address->entry.epoch >= CLUSTER_EPOCH_MAX || session_of(context, address) == 0)
        return;
    cluster_plan_change(plan, address, &entry);
    cluster_plan_move(plan, place, CLUSTER_OPERATION_BEGINNING, 0, "");
}

static void plan_end(const struct cluster_restart_parts *parts,
                     const struct cluster_operations_row *row,
                     const struct cluster_address *address, uint32_t place,
                     struct cluster_plan *plan)
{
    const struct cluster_report failure =
        cluster_owners_failure(parts->owners, parts->lives, row->pool, row->container);

    if (address->entry.state == CLUSTER_ENTRY_ACTIVE)
        cluster_plan_move(plan, place, CLUSTER_OPERATION_DONE, 0, "");
    else if (is_quarantined(address))
        cluster_plan_move(plan, place, CLUSTER_OPERATION_ABORTED,
                          failure.status < 0 ? failure.status : RAPAHUB_EDIED,
                          failure.status < 0 ? failure.text : "its begin failed too often");
}

/* r[impl cluster.release.container] */
void cluster_quarantine_step(const struct cluster_context *context,
                             const struct cluster_restart_parts *parts,
                             const struct cluster_operations *operations, uint32_t place,
                             struct cluster_plan *plan)
{
    const struct cluster_operations_row *row = cluster_operations_at(operations, place);
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, row->pool);
    const struct cluster_address *address =
        cluster_address_map_find(context->map, row->pool, row->container);
    bool begins = row->state == CLUSTER_OPERATION_NEW;

    if (!plan)
        return;
    if (!pool || pool->state == CLUSTER_POOL_DESTROYING || !address)
        cluster_plan_move(plan, place,
                          begins ? CLUSTER_OPERATION_BEGINNING : CLUSTER_OPERATION_ABORTED,
                          RAPAHUB_ENOPOOL, "the pool was deleted");
    else if (begins && is_quarantined(address))
        plan_begin(context, address, place, plan);
    else if (begins)
        cluster_plan_move(plan, place, CLUSTER_OPERATION_BEGINNING, 0, "");
    else
        plan_end(parts, row, address, place, plan);
}

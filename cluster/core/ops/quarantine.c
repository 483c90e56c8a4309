/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/quarantine.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/ops/restart.h"

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

int cluster_quarantine_order(struct cluster_context *context, struct cluster_operations *operations,
                             const struct cluster_orders_order *order, uint32_t *out)
{
    const struct cluster_pools_pool *pool = cluster_pools_named(context->pools, order->pool);

    *out = 0;
    if (!pool)
        return rapahub_fail(RAPAHUB_ENOPOOL, "cluster.release.container", "no pool has this name");
    if (order->container >= pool->containers)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.release.container",
                            "pool %s has no container %u", pool->name, order->container);
    *out = find_open(operations, pool->pool, order->container);
    if (*out != 0 ||
        !is_quarantined(cluster_address_map_find(context->map, pool->pool, order->container)))
        return 0;
    *out = cluster_operations_add(operations, CLUSTER_OPERATION_RELEASE, pool->pool,
                                  order->container, pool->name);
    return *out != 0 ? 0
                     : rapahub_fail(RAPAHUB_EFULL, "cluster.operation.bounds",
                                    "at most %u operations are open", CLUSTER_OPERATIONS_MAX);
}

static void plan_begin(const struct cluster_context *context, struct cluster_lives *lives,
                       const struct cluster_address *address, uint32_t place,
                       struct cluster_plan *plan)
{
    struct cluster_entry entry = cluster_restart_raised(context, address, CLUSTER_ENTRY_RECOVERING);

    if (address->entry.epoch >= CLUSTER_EPOCH_MAX)
        return;
    cluster_lives_forgive(lives, address->pool, address->container);
    cluster_plan_change(plan, address, &entry);
    cluster_plan_move(plan, place, CLUSTER_OPERATION_BEGINNING, 0, "");
}

static void plan_end(const struct cluster_lives *lives, const struct cluster_operations_row *row,
                     const struct cluster_address *address, uint32_t place,
                     struct cluster_plan *plan)
{
    const struct cluster_life *life = cluster_lives_find(lives, row->pool, row->container);

    if (address->entry.state == CLUSTER_ENTRY_ACTIVE)
        cluster_plan_move(plan, place, CLUSTER_OPERATION_DONE, 0, "");
    else if (is_quarantined(address))
        cluster_plan_move(plan, place, CLUSTER_OPERATION_ABORTED,
                          life && life->failed ? life->status : RAPAHUB_EDIED,
                          life && life->failed ? life->text : "its begin failed too often");
}

/* r[impl cluster.release.container] */
void cluster_quarantine_step(struct cluster_context *context, struct cluster_operations *operations,
                             struct cluster_lives *lives, uint32_t place, struct cluster_plan *plan)
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
        plan_begin(context, lives, address, place, plan);
    else if (begins)
        cluster_plan_move(plan, place, CLUSTER_OPERATION_BEGINNING, 0, "");
    else
        plan_end(lives, row, address, place, plan);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/removal.h"

#include <rapahub/error.h>

/* r[impl cluster.delete.name] */
int cluster_removal_order(struct cluster_context *context, struct cluster_operations *operations,
                          const struct cluster_orders_order *order, uint32_t *out)
{
    const struct cluster_pools_pool *pool = cluster_pools_named(context->pools, order->pool);

    *out = pool ? cluster_operations_open(operations, CLUSTER_OPERATION_DELETE, pool->pool)
                : cluster_operations_last(operations, CLUSTER_OPERATION_DELETE, 0, order->pool);
    if (*out != 0)
        return 0;
    if (!pool)
        return rapahub_fail(RAPAHUB_ENOPOOL, "cluster.delete.name", "no pool has this name");
    if (pool->revision == 0)
        return rapahub_fail(RAPAHUB_EAGAIN, "cluster.delete.name", "pool %s is just being created",
                            pool->name);
    *out = cluster_operations_add(operations, CLUSTER_OPERATION_DELETE, pool->pool, 0, pool->name);
    if (*out == 0)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.operation.bounds",
                            "at most %u operations are open", CLUSTER_OPERATIONS_MAX);
    return 0;
}

/* A creation that is under way ends with it; one that failed keeps its cause. It may have removed
 * the pool before. */
static void plan_begin(const struct cluster_operations *operations, uint32_t place,
                       const struct cluster_pools_pool *pool, struct cluster_plan *plan)
{
    const struct cluster_operations_row *row = cluster_operations_at(operations, place);
    uint32_t create = cluster_operations_open(operations, CLUSTER_OPERATION_CREATE, row->pool);

    if (!pool) {
        cluster_plan_move(plan, place,
                          row->state == CLUSTER_OPERATION_NEW ? CLUSTER_OPERATION_REMOVING
                                                              : CLUSTER_OPERATION_DONE,
                          0, "");
        return;
    }
    if (create != 0) {
        const struct cluster_operations_row *created = cluster_operations_at(operations, create);
        bool failed = created->state == CLUSTER_OPERATION_UNDOING;

        cluster_plan_move(plan, create, CLUSTER_OPERATION_ABORTED,
                          failed ? created->result : RAPAHUB_ECANCELED,
                          failed ? created->text : "the pool was deleted while it was created");
    }
    cluster_plan_move(plan, place, CLUSTER_OPERATION_REMOVING, 0, "");
    cluster_plan_put_pool(plan, row->pool, CLUSTER_POOL_DESTROYING);
}

void cluster_removal_entry(struct cluster_context *context, struct cluster_lives *lives,
                           const struct cluster_address *address)
{
    if (!cluster_context_holds(context, &address->entry))
        return;
    cluster_lives_remove(lives, context, address->pool, address->container);
    if (!cluster_context_leads(context))
        cluster_reports_tell(context, lives, address);
}

/* A node that is none of the cluster any more has nothing to remove. A pool does not wait for one
 * that is fenced or leaves, and what it has on its disk stays there. */
static bool has_left(const struct cluster_context *context, const struct cluster_entry *entry)
{
    uint32_t holder = cluster_entry_holder(entry);
    const struct cluster_nodes_node *node = cluster_nodes_find(context->nodes, holder);

    return holder != 0 && (!node || node->state == CLUSTER_NODE_LEFT ||
                           cluster_nodes_has_ended(context->nodes, holder) ||
                           (node->state == CLUSTER_NODE_FENCED && node->session == 0));
}

/* Waits for all containers of the pool to go. Returns how many are still there; `left` gets how
 * many entries it has. */
static uint32_t await_all(const struct cluster_context *context,
                          const struct cluster_restart_parts *parts,
                          const struct cluster_pools_pool *pool, struct cluster_operations_row *row,
                          uint32_t *left)
{
    uint32_t there = 0;

    *left = 0;
    for (uint32_t c = 0; c < pool->containers; c++) {
        const struct cluster_address *address =
            cluster_address_map_find(context->map, pool->pool, c);
        struct cluster_report report;

        if (!address)
            continue;
        ++*left;
        report = cluster_owners_report(parts->owners, context, parts->lives, address);
        there += report.step != CLUSTER_STEP_REMOVED && !has_left(context, &address->entry);
        if (report.status < 0)
            cluster_operations_note(row, report.text);
    }
    return there;
}

static void plan_entries(const struct cluster_context *context,
                         const struct cluster_pools_pool *pool, struct cluster_plan *plan)
{
    for (uint32_t c = 0; c < pool->containers && cluster_plan_space(plan) > 0; c++) {
        const struct cluster_address *address =
            cluster_address_map_find(context->map, pool->pool, c);

        if (address)
            cluster_plan_change(plan, address, NULL);
    }
}

/* With the last entries the pool goes. */
static void plan_end(const struct cluster_operations_row *row, uint32_t place,
                     struct cluster_plan *plan)
{
    cluster_plan_move(plan, place,
                      row->state == CLUSTER_OPERATION_UNDOING ? CLUSTER_OPERATION_ABORTED
                                                              : CLUSTER_OPERATION_DONE,
                      row->result, row->text);
    cluster_plan_delete_pool(plan, row->pool);
}

/* r[impl cluster.delete.all] */
void cluster_removal_step(const struct cluster_context *context,
                          const struct cluster_restart_parts *parts,
                          struct cluster_operations *operations, uint32_t place,
                          struct cluster_plan *plan)
{
    struct cluster_operations_row *row = cluster_operations_at(operations, place);
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, row->pool);
    uint32_t left;

    if (!pool || row->state == CLUSTER_OPERATION_NEW) {
        if (plan)
            plan_begin(operations, place, pool, plan);
        return;
    }
    if (!plan || await_all(context, parts, pool, row, &left) > 0)
        return;
    plan_entries(context, pool, plan);
    if (plan->changes_count == left)
        plan_end(row, place, plan);
}

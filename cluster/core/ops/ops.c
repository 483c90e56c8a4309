/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/ops.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/ops/create.h"
#include "cluster/core/ops/leave.h"
#include "cluster/core/ops/map_writer.h"
#include "cluster/core/ops/quarantine.h"
#include "cluster/core/ops/recover.h"
#include "cluster/core/ops/removal.h"
#include "cluster/core/ops/restart.h"
#include "hub/base/check.h"

#define AGAIN_NS UINT64_C(1000000)

struct cluster_ops {
    struct cluster_context context;
    struct cluster_operations *operations;
    struct cluster_orders *orders;
    struct cluster_lives *lives;
    struct cluster_owners *owners;
    struct cluster_map_writer writer;
    bool knows; /* all that the metastore has was told, since it leads */
};

int cluster_ops_create(const struct cluster_context *context, uint64_t secret,
                       struct cluster_ops **out)
{
    struct cluster_ops *ops = calloc(1, sizeof *ops);
    int status;

    *out = ops;
    if (!ops)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for operations");
    ops->context = *context;
    ops->context.next_ns = CLUSTER_TIMERS_NEVER;
    ops->context.next_pool = CLUSTER_POOL_MAJOR_LEAST;
    ops->context.lead = context->node;
    status = cluster_operations_create(&ops->operations);
    if (status == 0)
        status = cluster_orders_create(&ops->orders);
    if (status == 0)
        status = cluster_lives_create(&ops->context, secret, &ops->lives);
    if (status == 0)
        status = cluster_nodes_create(context->node, context->limits->peers, &ops->context.nodes);
    if (status == 0)
        status = cluster_recoveries_create(context->limits->peers + 1, &ops->context.recoveries);
    if (status == 0)
        status = cluster_owners_create(secret, &ops->owners);
    if (status == 0)
        status = cluster_map_writer_init(&ops->writer);
    if (status < 0)
        cluster_ops_release(out);
    return status;
}

void cluster_ops_release(struct cluster_ops **ops)
{
    if (*ops) {
        cluster_map_writer_fini(&(*ops)->writer);
        cluster_owners_release(&(*ops)->owners);
        cluster_recoveries_release(&(*ops)->context.recoveries);
        cluster_nodes_release(&(*ops)->context.nodes);
        cluster_lives_release(&(*ops)->lives);
        cluster_orders_release(&(*ops)->orders);
        cluster_operations_release(&(*ops)->operations);
    }
    free(*ops);
    *ops = NULL;
}

/* ---- the metastore ---- */

/* r[impl cluster.orders.start] */
static bool has_started(const struct cluster_ops *ops)
{
    return ops->context.session.revision != 0;
}

/* r[impl cluster.lead.writes] */
int cluster_ops_start(struct cluster_ops *ops, const struct cluster_ops_start *start)
{
    uint32_t place;
    int status = cluster_session_start(&ops->context.session, start->session, start->boot,
                                       start->generation);

    if (status < 0)
        return status;
    ops->context.changed = ops->knows = true;
    ops->context.term = start->term;
    ops->context.started_ns = ops->context.now_ns;
    if (start->lead == 0 || start->lead == ops->context.node)
        return 0;
    ops->context.lead = start->lead;
    while ((place = cluster_operations_after(ops->operations, 0)) != 0)
        cluster_operations_remove(ops->operations, place);
    return 0;
}

int cluster_ops_take_node(struct cluster_ops *ops, const struct cluster_ops_node *told)
{
    struct cluster_nodes *nodes = ops->context.nodes;
    int status = cluster_nodes_put(nodes, told->node, told->session, told->record);

    ops->context.changed = true;
    if (status == 0 && told->record)
        cluster_nodes_keep(nodes, told->node, told->revision, told->record);
    return status;
}

int cluster_ops_take_recovery(struct cluster_ops *ops, const struct cluster_key *key,
                              uint64_t revision, const struct cluster_record_operation *record)
{
    if (!cluster_context_leads(&ops->context))
        return 0;
    ops->context.changed = true;
    return cluster_recoveries_put(ops->context.recoveries, key, revision, record);
}

int cluster_ops_take_death(struct cluster_ops *ops, uint32_t node, uint64_t session, bool final)
{
    return has_started(ops) && ops->knows && cluster_context_leads(&ops->context)
               ? cluster_recover_death(&ops->context, node, session, final)
               : rapahub_fail(RAPAHUB_EAGAIN, "cluster.death.session",
                              "node %u does not lead, or is just starting", ops->context.node);
}

void cluster_ops_hold_dead(struct cluster_ops *ops, uint32_t node, bool dead)
{
    ops->context.changed |= cluster_nodes_hold_dead(ops->context.nodes, node, dead);
}

int cluster_ops_take_report(struct cluster_ops *ops, uint32_t node, uint64_t session,
                            const struct cluster_body_step_done *done)
{
    int status = cluster_owners_take(ops->owners, &ops->context, node, session, done);

    ops->context.changed |= status == 0;
    return status;
}

void cluster_ops_link(struct cluster_ops *ops, uint32_t node, bool up)
{
    struct cluster_context *context = &ops->context;

    if (node != context->lead)
        return;
    context->lead_up = up;
    context->link += up;
    context->changed = true;
}

int cluster_ops_take_operation(struct cluster_ops *ops, uint64_t number, uint64_t revision,
                               const struct cluster_record_operation *record)
{
    if (!cluster_context_leads(&ops->context))
        return 0;
    ops->context.changed = true;
    return cluster_operations_put(ops->operations, number, revision, record);
}

int cluster_ops_take_next_pool(struct cluster_ops *ops, uint64_t next, uint64_t revision)
{
    return cluster_create_take_next(&ops->context, next, revision);
}

void cluster_ops_set_time(struct cluster_ops *ops, uint64_t now_ns)
{
    ops->context.now_ns = now_ns;
}

void cluster_ops_changed(struct cluster_ops *ops)
{
    ops->context.changed = true;
}

/* ---- orders ---- */

static int find_place(struct cluster_ops *ops, const struct cluster_orders_order *order,
                      uint32_t *out)
{
    switch (order->kind) {
    case CLUSTER_ORDER_APPLY:
        return cluster_create_order(&ops->context, ops->operations, order, out);
    case CLUSTER_ORDER_DELETE:
        return cluster_removal_order(&ops->context, ops->operations, order, out);
    case CLUSTER_ORDER_RELEASE:
        return cluster_quarantine_order(&ops->context, ops->operations, order, out);
    case CLUSTER_ORDER_WAIT:
        *out = cluster_operations_find(ops->operations, order->operation);
        return *out != 0 ? 0
                         : rapahub_fail(RAPAHUB_ENOENT, "cluster.orders.wait",
                                        "no operation has this number");
    default:
        return rapahub_fail(RAPAHUB_EINVAL, "", "no order is of kind %u", order->kind);
    }
}

/* 0: nothing is to be done. */
static int find_operation(struct cluster_ops *ops, const struct cluster_orders_order *order,
                          uint64_t *out)
{
    uint32_t place = 0;
    int status;

    if (order->kind == CLUSTER_ORDER_DEAD)
        return cluster_recover_order(&ops->context, order, out);
    if (order->kind == CLUSTER_ORDER_LEAVE)
        return cluster_leave_order(&ops->context, order, out);
    status = find_place(ops, order, &place);
    *out = place != 0 ? cluster_operations_at(ops->operations, place)->number : 0;
    return status;
}

/* r[impl cluster.orders.lead] */
int cluster_ops_order(struct cluster_ops *ops, const struct cluster_orders_order *order)
{
    uint64_t operation = 0;
    int status = cluster_orders_check(ops->orders, &ops->context, order->number);

    if (status < 0)
        return status;
    if (!has_started(ops) || (cluster_context_leads(&ops->context) && !ops->knows))
        return rapahub_fail(RAPAHUB_EAGAIN, "cluster.orders.start",
                            "the node is just starting, or just begins to lead");
    if (!cluster_context_leads(&ops->context))
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.orders.lead",
                            "node %u takes no orders, for node %u leads: give the order there",
                            ops->context.node, ops->context.lead);
    if (ops->writer.state == CLUSTER_MAP_WRITER_CLOSED)
        return rapahub_fail(RAPAHUB_EIO, "cluster.orders.store", "the metastore has closed");
    status = find_operation(ops, order, &operation);
    if (status < 0)
        return status;
    if (operation == 0)
        cluster_orders_end_at_once(&ops->context, order->number, 0);
    else
        cluster_orders_begin(ops->orders, &ops->context, order, operation);
    ops->context.changed = true;
    return 0;
}

int cluster_ops_cancel(struct cluster_ops *ops, uint64_t number)
{
    return cluster_orders_cancel(ops->orders, &ops->context, number);
}

/* ---- answers ---- */

/* A pool that is not in the metastore goes with the operation that was to make it. */
static void forget(struct cluster_ops *ops, uint32_t place)
{
    const struct cluster_operations_row *row = cluster_operations_at(ops->operations, place);

    if (row->kind == CLUSTER_OPERATION_CREATE && row->revision == 0)
        cluster_create_forget(&ops->context, ops->operations, place);
    else
        cluster_operations_remove(ops->operations, place);
}

/* r[impl cluster.orders.store] */
static void give_up(struct cluster_ops *ops, uint32_t place, int32_t status, const char *text)
{
    const struct cluster_operations_row *row = cluster_operations_at(ops->operations, place);

    cluster_orders_end_all(ops->orders, &ops->context, row->number, status, text);
    forget(ops, place);
}

/* Gives up what is not in the metastore of the plan that has not happened; nothing was done. */
static void give_up_new(struct cluster_ops *ops, int32_t status, const char *text)
{
    const struct cluster_orders_outcome outcome = {status, text};
    const struct cluster_plan *plan = &ops->writer.plan;

    for (uint32_t i = 0; i < plan->operations_count; i++)
        if (cluster_operations_at(ops->operations, plan->operations[i].place)->revision == 0)
            give_up(ops, plan->operations[i].place, status, text);
    if (plan->with_recovery != CLUSTER_PLAN_NO_RECOVERY)
        cluster_recover_give_up(&ops->context, ops->orders, plan->recovery, &outcome);
    if (plan->node_state == CLUSTER_NODE_DRAINING)
        cluster_leave_give_up(&ops->context, ops->orders, plan->node, &outcome);
}

static void give_up_all(struct cluster_ops *ops)
{
    const char *text = "the metastore has closed; operations go on when the node starts again";
    uint32_t place = 0;

    while ((place = cluster_operations_after(ops->operations, place)) != 0)
        if (cluster_operations_at(ops->operations, place)->revision == 0)
            give_up(ops, place, RAPAHUB_EIO, text);
    cluster_orders_end_all(ops->orders, &ops->context, 0, RAPAHUB_EIO, text);
}

int cluster_ops_stored(struct cluster_ops *ops, uint64_t id, int32_t status, uint64_t revision)
{
    const struct cluster_map_writer_outcome outcome = {id, revision, status};
    int known = cluster_map_writer_stored(&ops->writer, &ops->context, ops->operations, &outcome);

    if (known < 0 || status == CLUSTER_TXN_OK)
        return known;
    if (ops->writer.state == CLUSTER_MAP_WRITER_CLOSED)
        give_up_all(ops);
    else if (status == CLUSTER_TXN_NO_SPACE)
        give_up_new(ops, RAPAHUB_ENOSPC, "the metastore is full; nothing was done");
    else if (ops->writer.attempts >= CLUSTER_OPS_ATTEMPTS_MAX)
        give_up_new(ops, RAPAHUB_EAGAIN, "the metastore has not taken it; nothing was done");
    return 0;
}

int cluster_ops_begun(struct cluster_ops *ops, const struct cluster_lives_answer *answer)
{
    return cluster_lives_begun(ops->lives, &ops->context, answer);
}

int cluster_ops_removed(struct cluster_ops *ops, const struct cluster_lives_answer *answer)
{
    return cluster_lives_removed(ops->lives, &ops->context, answer);
}

void cluster_ops_down(struct cluster_ops *ops, uint64_t pool, uint32_t container)
{
    cluster_lives_down(ops->lives, &ops->context, pool, container);
}

/* ---- the lead ---- */

/* The node that leads now goes on with what the metastore has of it. */
static void stop_leading(struct cluster_ops *ops)
{
    uint32_t place;

    cluster_map_writer_leave(&ops->writer);
    cluster_orders_end_all(ops->orders, &ops->context, 0, RAPAHUB_EAGAIN,
                           "another node leads now, and goes on with it: look there");
    while ((place = cluster_operations_after(ops->operations, 0)) != 0)
        forget(ops, place);
    cluster_recoveries_clear(ops->context.recoveries);
    cluster_nodes_forget_leaves(ops->context.nodes);
}

/* All is read anew: a node that does not lead was not told of operations. r[impl
 * cluster.lead.follow] */
void cluster_ops_lead(struct cluster_ops *ops, uint32_t lead, uint64_t term, bool up)
{
    struct cluster_context *context = &ops->context;
    bool led = cluster_context_leads(context);

    context->lead = lead;
    context->term = term;
    context->lead_up = up;
    context->link++;
    context->changed = true;
    if (led && !cluster_context_leads(context))
        stop_leading(ops);
    if (led || !cluster_context_leads(context))
        return;
    ops->knows = false;
    context->started_ns = context->now_ns;
    cluster_catch_up_doubt(context->catch_up);
}

/* ---- steps ---- */

/* An entry that is being changed is left alone: the metastore may have the one after it. */
static void look_at_entries(struct cluster_ops *ops, struct cluster_plan *plan)
{
    const struct cluster_restart_parts parts = {ops->lives, ops->owners};
    bool leads = cluster_context_leads(&ops->context);
    const struct cluster_address *address;
    struct cluster_recover recover;
    uint32_t place = 0;

    if (leads)
        cluster_recover_begin(&recover, &ops->context, plan);
    while ((address = cluster_address_map_after(ops->context.map, &place))) {
        const struct cluster_pools_pool *pool =
            cluster_pools_find(ops->context.pools, address->pool);

        if (!pool || cluster_map_writer_changes(&ops->writer, address))
            continue;
        if (pool->state == CLUSTER_POOL_DESTROYING)
            cluster_removal_entry(&ops->context, ops->lives, address);
        else if (leads && cluster_recover_is_lost(&recover, address))
            cluster_recover_entry(&recover, pool, address);
        else
            cluster_restart_entry(&ops->context, &parts, pool, address, plan);
    }
    if (!leads)
        return;
    cluster_recover_end(&recover);
    cluster_leave_look(&ops->context, ops->orders, plan);
}

static void step_operation(struct cluster_ops *ops, uint32_t place, struct cluster_plan *plan)
{
    const struct cluster_restart_parts parts = {ops->lives, ops->owners};
    struct cluster_operations_row *row = cluster_operations_at(ops->operations, place);

    if (cluster_operations_has_ended(row))
        return;
    cluster_context_wake(&ops->context, cluster_operations_due(row, ops->context.now_ns));
    if (row->kind == CLUSTER_OPERATION_RELEASE)
        cluster_quarantine_step(&ops->context, &parts, ops->operations, place, plan);
    else if (row->kind == CLUSTER_OPERATION_DELETE || row->state == CLUSTER_OPERATION_UNDOING)
        cluster_removal_step(&ops->context, &parts, ops->operations, place, plan);
    else
        cluster_create_step(&ops->context, &parts, ops->operations, place, plan);
}

/* A transaction is of one operation, or of entries. */
static void look_at_operations(struct cluster_ops *ops, struct cluster_plan *plan)
{
    uint32_t place = 0;

    while ((place = cluster_operations_after(ops->operations, place)) != 0)
        step_operation(ops, place, plan && cluster_plan_is_empty(plan) ? plan : NULL);
    place = plan && cluster_plan_is_empty(plan) ? cluster_operations_surplus(ops->operations) : 0;
    if (place != 0)
        cluster_plan_forget(plan, place);
}

static void carry_out(struct cluster_ops *ops)
{
    int status = cluster_map_writer_send(&ops->writer, &ops->context, ops->operations);

    if (status < 0)
        give_up_new(ops, status, rapahub_last_error()->text);
}

static void look_at_all(struct cluster_ops *ops)
{
    struct cluster_context *context = &ops->context;
    struct cluster_plan *plan = NULL;

    if (cluster_context_leads(context) && cluster_map_writer_is_ready(&ops->writer, context)) {
        plan = &ops->writer.plan;
        cluster_plan_init(plan);
    }
    if (context->catch_up->state != CLUSTER_CATCH_UP_CURRENT)
        return;
    ops->knows = true;
    cluster_lives_sweep(ops->lives, context);
    cluster_owners_sweep(ops->owners, context);
    look_at_entries(ops, plan);
    look_at_operations(ops, plan);
    if (plan && !cluster_plan_is_empty(plan))
        carry_out(ops);
}

/* Where there is no space for an effect or a question all is looked at again a little later. */
void cluster_ops_step(struct cluster_ops *ops)
{
    struct cluster_context *context = &ops->context;

    if (!has_started(ops) || (!context->changed && context->now_ns < context->next_ns))
        return;
    context->changed = false;
    context->next_ns = CLUSTER_TIMERS_NEVER;
    context->reports = 0;
    cluster_orders_settle(ops->orders, context, ops->operations);
    if (cluster_context_leads(context) && cluster_orders_count(ops->orders) > 0)
        cluster_recover_settle(context, ops->orders);
    look_at_all(ops);
    if (cluster_effects_space(context->effects) < 2 || cluster_pending_space(context->pending) == 0)
        cluster_context_wake(context, context->now_ns + AGAIN_NS);
}

uint64_t cluster_ops_next(const struct cluster_ops *ops)
{
    return ops->context.changed && has_started(ops) ? ops->context.now_ns : ops->context.next_ns;
}

const struct cluster_context *cluster_ops_context(const struct cluster_ops *ops)
{
    return &ops->context;
}

/* ---- for lists ---- */

const struct cluster_operations *cluster_ops_operations(const struct cluster_ops *ops)
{
    return ops->operations;
}

const struct cluster_lives *cluster_ops_lives(const struct cluster_ops *ops)
{
    return ops->lives;
}

uint32_t cluster_ops_orders(const struct cluster_ops *ops)
{
    return cluster_orders_count(ops->orders);
}

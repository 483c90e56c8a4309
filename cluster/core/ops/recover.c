/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/recover.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/copies/holders.h"
#include "cluster/core/ops/restart.h"

/* ---- lost entries ---- */

static bool recovers(const struct cluster_entry *entry)
{
    return entry->state == CLUSTER_ENTRY_RECOVERING;
}

void cluster_recover_begin(struct cluster_recover *recover, struct cluster_context *context,
                           struct cluster_plan *plan)
{
    struct cluster_recovery *recovery;
    struct cluster_nodes_node *node;
    const struct cluster_address *address;
    uint32_t place = 0;

    *recover = (struct cluster_recover){.context = context, .plan = plan};
    while ((recovery = cluster_recoveries_after(context->recoveries, &place))) {
        recovery->left = recovery->waiting = recovery->without = 0;
        if (recovery->since_ns == 0)
            recovery->since_ns = context->now_ns;
    }
    if (!cluster_recoveries_after(context->recoveries, &place))
        return;
    for (place = 0; (node = cluster_nodes_after(context->nodes, &place));)
        node->recovering = 0;
    for (place = 0; (address = cluster_address_map_after(context->map, &place));)
        if (recovers(&address->entry) &&
            (node = cluster_nodes_find(context->nodes, address->entry.owner))) {
            node->recovering++;
            recover->recovering++;
        }
}

/* A node that joins has no session yet, and no entries. Where a record of a node is not known
 * nothing is known of its session. */
static bool has_ended(const struct cluster_context *context, uint32_t node)
{
    const struct cluster_nodes_node *row = cluster_nodes_find(context->nodes, node);

    return row && row->revision != 0 && row->session == 0;
}

/* A node that was told to leave does not come back for what only its disk has. */
static bool note_end(struct cluster_context *context, const struct cluster_entry *entry)
{
    struct cluster_recovery *recovery = cluster_recoveries_note(
        context->recoveries, entry->owner, entry->session, CLUSTER_PROOF_ENDED);

    if (recovery && cluster_nodes_has_ended(context->nodes, entry->owner))
        recovery->is.discard |= cluster_nodes_find(context->nodes, entry->owner)->discard;
    return recovery != NULL;
}

/* r[impl cluster.recover.ended] r[impl cluster.recover.again] */
bool cluster_recover_is_lost(struct cluster_recover *recover, const struct cluster_address *address)
{
    struct cluster_context *context = recover->context;
    const struct cluster_entry *entry = &address->entry;
    const struct cluster_recovery *recovery;

    if (entry->owner == 0 || entry->owner == context->node)
        return false;
    recovery = cluster_recoveries_find(context->recoveries, entry->owner);
    if (recovery && entry->session <= recovery->session)
        return true;
    return has_ended(context, entry->owner) && note_end(context, entry);
}

/* The metastore has not told yet that the session is gone. */
static bool is_there(const struct cluster_context *context, const struct cluster_recovery *recovery)
{
    return cluster_nodes_session(context->nodes, recovery->node) == recovery->session;
}

/* ---- when ---- */

/* r[impl cluster.recover.grace] */
static uint64_t due_ns(const struct cluster_context *context,
                       const struct cluster_recovery *recovery,
                       const struct cluster_pools_pool *pool)
{
    bool at_once = pool->on_daemon_death == CLUSTER_DAEMON_RECOVER;
    uint64_t window = context->started_ns + CLUSTER_RECOVER_WINDOW_NS;
    uint64_t patient = recovery->since_ns + (at_once ? 0 : CLUSTER_RECOVER_WINDOW_NS);

    switch (recovery->is.proof) {
    case CLUSTER_PROOF_ENDED:
        if (cluster_nodes_has_ended(context->nodes, recovery->node))
            return recovery->since_ns;
        return patient > window ? patient : window;
    case CLUSTER_PROOF_RESTARTING:
        return recovery->since_ns + (at_once ? 0 : CLUSTER_RECOVER_GRACE_NS);
    default:
        return recovery->since_ns;
    }
}

/* Says whether something of a container may be on the disk of its node, and nowhere else. Before
 * it has begun there it has nothing. */
static bool has_left_something(const struct cluster_entry *entry,
                               const struct cluster_pools_pool *pool)
{
    bool begun = entry->state != CLUSTER_ENTRY_STARTING &&
                 (entry->op == 0 || entry->state == CLUSTER_ENTRY_ACTIVE);

    return begun && pool->durability != CLUSTER_DURABILITY_NONE;
}

/* ---- copies on other nodes ---- */

/* A holder that is named has every copy that was stable, so one of them is enough. The node that
 * begins the container asks all that it reaches, and takes the newest.
 * r[impl cluster.recover.holders] */
static const struct cluster_holders_row *holders_of(const struct cluster_context *context,
                                                    const struct cluster_address *address)
{
    return context->holders
               ? cluster_holders_find(context->holders, address->pool, address->container)
               : NULL;
}

static bool may_answer(const struct cluster_context *context, uint32_t node)
{
    const struct cluster_nodes_node *row = cluster_nodes_find(context->nodes, node);

    return node == context->node ||
           (row && !row->dead && cluster_context_session(context, node) != 0);
}

static bool is_kept_elsewhere(const struct cluster_context *context,
                              const struct cluster_address *address)
{
    const struct cluster_holders_row *row = holders_of(context, address);

    for (uint32_t i = 0; row && i < row->count; i++)
        if (row->nodes[i] != address->entry.owner && may_answer(context, row->nodes[i]))
            return true;
    return false;
}

bool cluster_recover_would_lose(const struct cluster_context *context,
                                const struct cluster_pools_pool *pool,
                                const struct cluster_address *address)
{
    return has_left_something(&address->entry, pool) && !is_kept_elsewhere(context, address);
}

/* ---- where ---- */

/* A node that keeps a copy begins without fetching it. */
static uint32_t find_holder(const struct cluster_recover *recover,
                            const struct cluster_address *address)
{
    const struct cluster_holders_row *row = holders_of(recover->context, address);

    for (uint32_t i = 0; row && i < row->count; i++) {
        const struct cluster_nodes_node *node =
            cluster_nodes_find(recover->context->nodes, row->nodes[i]);

        if (node && node->may && node->recovering < CLUSTER_RECOVER_NODE_MAX)
            return node->node;
    }
    return 0;
}

/* The containers that get a node anew count for the part of each. */
static uint32_t find_node(struct cluster_recover *recover, const struct cluster_pools_pool *pool,
                          const struct cluster_address *address)
{
    uint32_t holder;

    if (recover->placed != pool->pool) {
        cluster_placement_begin(recover->context, pool, &recover->placement);
        recover->placement.total += pool->containers;
        recover->placed = pool->pool;
    }
    holder = find_holder(recover, address);
    if (holder != 0 || recover->placement.capacity == 0)
        return holder;
    return cluster_placement_next(recover->context, &recover->placement, address->container);
}

static void give(struct cluster_recover *recover, const struct cluster_recovery *recovery,
                 const struct cluster_address *address, struct cluster_nodes_node *node)
{
    const struct cluster_context *context = recover->context;
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);
    const bool with_copy =
        has_left_something(&address->entry, pool) && is_kept_elsewhere(context, address);
    struct cluster_entry entry = {.state = CLUSTER_ENTRY_RECOVERING,
                                  .epoch = address->entry.epoch + 1,
                                  .owner = node->node,
                                  .session = cluster_context_session(context, node->node),
                                  .op = recovery->session,
                                  .module = address->entry.module};

    if (address->entry.state == CLUSTER_ENTRY_STARTING) {
        entry.state = CLUSTER_ENTRY_STARTING;
        entry.op = address->entry.op;
    }
    entry.lineage = cluster_ids_lineage(entry.epoch, 0);
    if (with_copy) {
        entry.op = 0; /* it loads what is kept: see cluster_lives_begin */
        if (pool->durability == CLUSTER_DURABILITY_ACKED &&
            !cluster_restart_is_restored(&address->entry, &entry))
            entry.lineage = address->entry.lineage;
    }
    cluster_plan_change(recover->plan, address, &entry);
    node->recovering++;
    recover->recovering++;
    recover->given++;
}

/* r[impl cluster.recover.plan] r[impl cluster.recover.bounds] */
static void place(struct cluster_recover *recover, struct cluster_recovery *recovery,
                  const struct cluster_pools_pool *pool, const struct cluster_address *address)
{
    struct cluster_nodes_node *node;
    uint32_t number;

    if (!recover->plan || cluster_plan_space(recover->plan) == 0 ||
        recover->recovering >= CLUSTER_RECOVER_MAX || recover->given == CLUSTER_RECOVER_TXN_MAX ||
        address->entry.epoch >= CLUSTER_EPOCH_MAX)
        return;
    number = find_node(recover, pool, address);
    node = number != 0 ? cluster_nodes_find(recover->context->nodes, number) : NULL;
    if (!node)
        recovery->without++;
    else if (node->recovering < CLUSTER_RECOVER_NODE_MAX)
        give(recover, recovery, address, node);
}

/* A node that is back has what it kept, and begins its own containers: no other one does.
 * r[impl cluster.recover.local] */
void cluster_recover_entry(struct cluster_recover *recover, const struct cluster_pools_pool *pool,
                           const struct cluster_address *address)
{
    struct cluster_context *context = recover->context;
    const struct cluster_entry *entry = &address->entry;
    struct cluster_recovery *recovery = cluster_recoveries_find(context->recoveries, entry->owner);
    uint64_t due;

    recovery->left++;
    if (recovery->revision == 0 || is_there(context, recovery))
        return;
    if (cluster_nodes_session(context->nodes, entry->owner) > recovery->session) {
        cluster_restart_older(context, address, recover->plan);
        return;
    }
    if (!recovery->is.discard && cluster_recover_would_lose(context, pool, address)) {
        recovery->waiting++;
        return;
    }
    due = due_ns(context, recovery, pool);
    if (context->now_ns < due)
        cluster_context_wake(context, due);
    else
        place(recover, recovery, pool, address);
}

/* ---- the record ---- */

/* The node has ended the session itself, and begun another one. */
static void take_back(struct cluster_recover *recover, struct cluster_recovery *recovery)
{
    recover->context->changed = true;
    if (recovery->before == 0) {
        cluster_recoveries_remove(recover->context->recoveries, recovery->place);
        return;
    }
    recovery->session = recovery->before;
    recovery->sent = recovery->is;
    cluster_recoveries_written(recovery, recovery->before, recovery->before_revision);
}

/* A node whose record is not known, or is too large, is not fenced.
 * r[impl cluster.session.fencer] */
static void plan_fence(struct cluster_recover *recover, struct cluster_recovery *recovery)
{
    const struct cluster_nodes_node *node =
        cluster_nodes_find(recover->context->nodes, recovery->node);

    if (!node || node->session > recovery->session)
        take_back(recover, recovery);
    else if (node->session == 0)
        cluster_plan_recovery(recover->plan, recovery, CLUSTER_PLAN_ENDED);
    else if (is_there(recover->context, recovery) && node->record_size > 0)
        cluster_plan_recovery(recover->plan, recovery, CLUSTER_PLAN_FENCE);
}

static void look_at(struct cluster_recover *recover, struct cluster_recovery *recovery)
{
    if (recovery->revision == 0)
        plan_fence(recover, recovery);
    else if (recovery->left == 0 && !is_there(recover->context, recovery))
        cluster_plan_recovery(recover->plan, recovery, CLUSTER_PLAN_END_RECOVERY);
    else if (!cluster_recoveries_is_stored(recovery))
        cluster_plan_recovery(recover->plan, recovery, CLUSTER_PLAN_PUT_RECOVERY);
}

void cluster_recover_end(struct cluster_recover *recover)
{
    struct cluster_recovery *recovery;
    uint32_t place = 0;

    while (recover->plan && cluster_plan_is_empty(recover->plan) &&
           (recovery = cluster_recoveries_after(recover->context->recoveries, &place)))
        look_at(recover, recovery);
}

/* ---- deaths ---- */

static int no_room(void)
{
    return rapahub_fail(RAPAHUB_EFULL, "cluster.operation.bounds",
                        "there are more recoveries than nodes");
}

/* r[impl cluster.death.session] */
int cluster_recover_death(struct cluster_context *context, uint32_t node, uint64_t session,
                          bool final)
{
    const struct cluster_recovery *recovery = cluster_recoveries_find(context->recoveries, node);
    uint64_t has = cluster_nodes_session(context->nodes, node);
    bool known = recovery && recovery->session == session;

    if (!cluster_nodes_find(context->nodes, node))
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.death.session", "there is no node %u", node);
    if (node == context->node || session == 0 || (has != session && !(known && has == 0)))
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.death.session",
                            "node %u is not in the session that is said to be dead", node);
    if (!cluster_recoveries_note(context->recoveries, node, session,
                                 final ? CLUSTER_PROOF_FINAL : CLUSTER_PROOF_RESTARTING))
        return no_room();
    context->changed = true;
    return 0;
}

/* A node without a session is not there any more; it is the last one of its entries that is meant.
 * r[impl cluster.recover.word] */
static uint64_t find_session(const struct cluster_context *context, uint32_t node)
{
    const struct cluster_recovery *recovery = cluster_recoveries_find(context->recoveries, node);
    uint64_t session = cluster_nodes_session(context->nodes, node);
    const struct cluster_address *address;
    uint32_t place = 0;

    if (session == 0 && recovery)
        session = recovery->session;
    while (session == 0 && (address = cluster_address_map_after(context->map, &place)))
        if (address->entry.owner == node)
            session = address->entry.session;
    return session;
}

int cluster_recover_order(struct cluster_context *context, const struct cluster_orders_order *order,
                          uint64_t *operation)
{
    uint64_t session = find_session(context, order->node);
    struct cluster_recovery *recovery;

    *operation = 0;
    if (order->node == context->node)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.recover.word",
                            "node %u leads: it takes this order, so it lives", order->node);
    if (!cluster_nodes_find(context->nodes, order->node))
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.recover.word",
                            "the cluster has no node %u: `rapahub get nodes` lists them",
                            order->node);
    if (session == 0)
        return 0;
    recovery =
        cluster_recoveries_note(context->recoveries, order->node, session, CLUSTER_PROOF_WORD);
    if (!recovery)
        return no_room();
    recovery->is.discard |= order->discard;
    *operation = CLUSTER_RECOVERIES_ORDER | order->node;
    return 0;
}

void cluster_recover_settle(struct cluster_context *context, struct cluster_orders *orders)
{
    const struct cluster_nodes_node *node;
    uint32_t place = 0;

    while ((node = cluster_nodes_after(context->nodes, &place))) {
        const struct cluster_recovery *recovery =
            cluster_recoveries_find(context->recoveries, node->node);

        if (!recovery || cluster_recoveries_is_stored(recovery))
            cluster_orders_end_all(orders, context, CLUSTER_RECOVERIES_ORDER | node->node, 0, "");
    }
}

/* A proof of a warden stays; a person may say it again. */
void cluster_recover_give_up(struct cluster_context *context, struct cluster_orders *orders,
                             uint32_t place, const struct cluster_orders_outcome *end)
{
    const struct cluster_recovery *recovery = cluster_recoveries_at(context->recoveries, place);

    cluster_orders_end_all(orders, context, CLUSTER_RECOVERIES_ORDER | recovery->node, end->status,
                           end->text);
    if (recovery->revision == 0 && recovery->is.proof == CLUSTER_PROOF_WORD &&
        recovery->before == 0)
        cluster_recoveries_remove(context->recoveries, place);
}

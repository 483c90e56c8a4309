/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/restart.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"

/* The metastore was restored: it may name a node whose copy is older than what was answered since.
 */
bool cluster_restart_is_restored(const struct cluster_entry *before,
                                 const struct cluster_entry *after)
{
    return cluster_ids_generation(before->session) < cluster_ids_generation(after->session);
}

/* The history of calls goes on only where each call that was answered is in a copy. */
struct cluster_entry cluster_restart_raised(const struct cluster_context *context,
                                            const struct cluster_address *address,
                                            enum cluster_entry_state state)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);
    struct cluster_entry entry = {.state = (uint8_t)state,
                                  .epoch = address->entry.epoch + 1,
                                  .lineage = address->entry.lineage,
                                  .op = address->entry.op,
                                  .module = address->entry.module};

    if (state == CLUSTER_ENTRY_QUARANTINED) {
        entry.destination = cluster_entry_holder(&address->entry);
        return entry;
    }
    entry.owner = cluster_entry_holder(&address->entry);
    if (entry.owner == 0)
        entry.owner = context->node;
    entry.session = cluster_context_session(context, entry.owner);
    if (!pool || pool->durability != CLUSTER_DURABILITY_ACKED ||
        cluster_restart_is_restored(&address->entry, &entry))
        entry.lineage = cluster_ids_lineage(entry.epoch, 0);
    return entry;
}

static void plan_raise(const struct cluster_context *context, const struct cluster_address *address,
                       enum cluster_entry_state state, struct cluster_plan *plan)
{
    struct cluster_entry entry;

    if (!plan || cluster_plan_space(plan) == 0 || address->entry.epoch >= CLUSTER_EPOCH_MAX)
        return;
    entry = cluster_restart_raised(context, address, state);
    cluster_plan_change(plan, address, &entry);
}

/* A container that had not begun for the first time still does that.
 * r[impl cluster.restart.epoch] */
void cluster_restart_older(const struct cluster_context *context,
                           const struct cluster_address *address, struct cluster_plan *plan)
{
    plan_raise(context, address,
               address->entry.state == CLUSTER_ENTRY_STARTING ? CLUSTER_ENTRY_STARTING
                                                              : CLUSTER_ENTRY_RESTARTING,
               plan);
}

/* Its entry is active no more when it fails, so that people see it; a creation undoes it. */
static void plan_report(const struct cluster_context *context,
                        const struct cluster_address *address, uint8_t pool_state, uint8_t step,
                        struct cluster_plan *plan)
{
    struct cluster_entry entry = address->entry;

    if (step == CLUSTER_STEP_DOWN)
        plan_raise(context, address, CLUSTER_ENTRY_RESTARTING, plan);
    else if (step == CLUSTER_STEP_SPENT)
        plan_raise(context, address, address->entry.state, plan);
    else if (step == CLUSTER_STEP_FAILED && pool_state != CLUSTER_POOL_CREATING)
        plan_raise(context, address, CLUSTER_ENTRY_QUARANTINED, plan);
    else if (step == CLUSTER_STEP_BEGUN && plan && cluster_plan_space(plan) > 0) {
        entry.state = CLUSTER_ENTRY_ACTIVE;
        entry.op = 0;
        cluster_plan_change(plan, address, &entry);
    }
}

/* Calls go to it once its entry and its pool are active. r[impl cluster.restart.serves] */
static void release(struct cluster_context *context, const struct cluster_address *address,
                    uint8_t pool_state)
{
    if (pool_state == CLUSTER_POOL_CREATING || cluster_effects_space(context->effects) == 0)
        return;
    cluster_local_containers_move(context->locals, address->pool, address->container,
                                  CLUSTER_LOCAL_SERVING);
    cluster_effects_add(context->effects,
                        &(struct cluster_effect){.kind = CLUSTER_EFFECT_RELEASE,
                                                 .pool = address->pool,
                                                 .container = address->container});
    context->hooks->serves(context->user, address->pool, address->container);
}

/* A container of this node, in this session: begun, released, or what is to be written follows. */
static void keep_up(struct cluster_context *context, const struct cluster_restart_parts *parts,
                    const struct cluster_address *address, uint8_t pool_state,
                    struct cluster_plan *plan)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, address->pool, address->container);
    const struct cluster_life *life =
        cluster_lives_find(parts->lives, address->pool, address->container);
    uint8_t step;

    if (life && life->asked != 0)
        return;
    cluster_lives_forgive(parts->lives, address);
    step = cluster_reports_of(context, parts->lives, address).step;
    if (step != CLUSTER_STEP_NONE)
        plan_report(context, address, pool_state, step, plan);
    else if (!local || local->state == CLUSTER_LOCAL_DOWN)
        (void)cluster_lives_begin(parts->lives, context, address);
    else if (local->state == CLUSTER_LOCAL_HELD)
        release(context, address, pool_state);
}

/* A container of another node, or of a session of before: only what is to be written. */
static void follow(const struct cluster_context *context, const struct cluster_restart_parts *parts,
                   const struct cluster_address *address, uint8_t pool_state,
                   struct cluster_plan *plan)
{
    uint64_t session = cluster_context_session(context, address->entry.owner);

    if (session > address->entry.session)
        cluster_restart_older(context, address, plan);
    else
        plan_report(context, address, pool_state,
                    cluster_owners_report(parts->owners, context, parts->lives, address).step,
                    plan);
}

/* Most containers do, and nothing follows from that. */
static bool serves(const struct cluster_context *context, const struct cluster_address *address)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, address->pool, address->container);

    return local && local->state == CLUSTER_LOCAL_SERVING;
}

void cluster_restart_entry(struct cluster_context *context,
                           const struct cluster_restart_parts *parts,
                           const struct cluster_pools_pool *pool,
                           const struct cluster_address *address, struct cluster_plan *plan)
{
    bool own = address->entry.owner == context->node &&
               address->entry.session == context->session.revision;

    if (address->entry.state == CLUSTER_ENTRY_QUARANTINED)
        cluster_lives_give_up(parts->lives, context, address->pool, address->container);
    else if (!own && plan)
        follow(context, parts, address, pool->state, plan);
    if (!own || serves(context, address))
        return;
    keep_up(context, parts, address, pool->state, plan);
    if (!cluster_context_leads(context))
        cluster_reports_tell(context, parts->lives, address);
}

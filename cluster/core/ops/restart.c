/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/restart.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"

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

    if (state != CLUSTER_ENTRY_QUARANTINED) {
        entry.owner = context->node;
        entry.session = context->session.revision;
        if (!pool || pool->durability != CLUSTER_DURABILITY_ACKED)
            entry.lineage = cluster_ids_lineage(entry.epoch, 0);
    }
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
static void plan_older(const struct cluster_context *context, const struct cluster_address *address,
                       struct cluster_plan *plan)
{
    plan_raise(context, address,
               address->entry.state == CLUSTER_ENTRY_STARTING ? CLUSTER_ENTRY_STARTING
                                                              : CLUSTER_ENTRY_RESTARTING,
               plan);
}

static bool is_active(const struct cluster_address *address)
{
    return address->entry.state == CLUSTER_ENTRY_ACTIVE;
}

/* It has begun. Calls go to it once its entry and its pool are active.
 * r[impl cluster.restart.serves] */
static void go_on(struct cluster_context *context, const struct cluster_address *address,
                  uint8_t pool_state, struct cluster_plan *plan)
{
    struct cluster_entry entry = address->entry;

    if (!is_active(address)) {
        entry.state = CLUSTER_ENTRY_ACTIVE;
        entry.op = 0;
        if (plan && cluster_plan_space(plan) > 0)
            cluster_plan_change(plan, address, &entry);
        return;
    }
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

/* r[impl cluster.restart.quarantine] */
static bool has_failed_too_often(const struct cluster_life *life, uint8_t pool_state)
{
    if (!life || !life->failed)
        return false;
    return life->failures >= CLUSTER_LIVES_FAILURES_MAX ||
           (pool_state == CLUSTER_POOL_CREATING && life->status != RAPAHUB_EDIED);
}

/* It is not up. The entry of one that fails is active no more, so that people see it; a creation
 * undoes it. */
static void begin(struct cluster_context *context, struct cluster_lives *lives,
                  const struct cluster_address *address, uint8_t pool_state,
                  struct cluster_plan *plan)
{
    const struct cluster_life *life = cluster_lives_find(lives, address->pool, address->container);
    bool spent = cluster_lives_are_spent(context, address);
    bool often = has_failed_too_often(life, pool_state);

    if (often && pool_state == CLUSTER_POOL_CREATING)
        return;
    if (is_active(address) && (spent || (life && life->failed)))
        plan_raise(context, address, CLUSTER_ENTRY_RESTARTING, plan);
    else if (often)
        plan_raise(context, address, CLUSTER_ENTRY_QUARANTINED, plan);
    else if (spent)
        plan_raise(context, address, address->entry.state, plan);
    else
        (void)cluster_lives_begin(lives, context, address);
}

static void keep_up(struct cluster_context *context, struct cluster_lives *lives,
                    const struct cluster_address *address, uint8_t pool_state,
                    struct cluster_plan *plan)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, address->pool, address->container);
    const struct cluster_life *life = cluster_lives_find(lives, address->pool, address->container);

    if (life && life->asked != 0)
        return;
    if (!local || local->state == CLUSTER_LOCAL_DOWN)
        begin(context, lives, address, pool_state, plan);
    else if (local->state == CLUSTER_LOCAL_HELD)
        go_on(context, address, pool_state, plan);
}

void cluster_restart_entry(struct cluster_context *context, struct cluster_lives *lives,
                           const struct cluster_address *address, struct cluster_plan *plan)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);

    if (!pool || pool->state == CLUSTER_POOL_DESTROYING)
        return;
    if (address->entry.state == CLUSTER_ENTRY_QUARANTINED)
        cluster_lives_give_up(lives, context, address->pool, address->container);
    else if (address->entry.owner != context->node)
        return;
    else if (address->entry.session != context->session.revision)
        plan_older(context, address, plan);
    else
        keep_up(context, lives, address, pool->state, plan);
}

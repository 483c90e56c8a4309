/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/durability.h"

#include <rapahub/error.h>

#include "cluster/core/calls/held_ends.h"
#include "cluster/core/calls/unheard.h"

static uint8_t durability_of(const struct cluster_dispatch *core, uint64_t pool)
{
    const struct cluster_pools_pool *found = cluster_pools_find(core->pools, pool);

    return found ? found->durability : CLUSTER_DURABILITY_NONE;
}

/* ---- calls and copies ---- */

static void set_copying(const struct cluster_dispatch *core, uint64_t pool, uint32_t container,
                        bool copying)
{
    struct cluster_local_container *local =
        cluster_local_containers_find(core->locals, pool, container);

    if (local)
        local->copying = copying;
}

static uint32_t running(void *user, uint64_t pool, uint32_t container)
{
    const struct cluster_dispatch *core = user;

    return cluster_dedup_running(core->dedup, pool, container);
}

/* r[impl cluster.copy.acked] */
static void hold(void *user, uint64_t pool, uint32_t container)
{
    set_copying(user, pool, container, true);
}

static void release(void *user, uint64_t pool, uint32_t container)
{
    struct cluster_dispatch *core = user;

    set_copying(core, pool, container, false);
    cluster_send_changed(core->send, pool, container, core->now_ns);
}

static uint64_t last_end(void *user)
{
    return cluster_dedup_last_end(((const struct cluster_dispatch *)user)->dedup);
}

static void covered(void *user, uint64_t pool, uint32_t container, uint64_t end)
{
    struct cluster_dispatch *core = user;
    struct cluster_dedup_answer answer;
    uint64_t asker;

    cluster_held_ends_cover(core->dedup, pool, container, end);
    while (cluster_held_ends_take(core->dedup, pool, container, &asker, &answer)) {
        cluster_send_ended(core->send, asker, &answer, core->now_ns);
        if (answer.payload != 0)
            cluster_payload_drop(core->payload, answer.payload);
    }
}

const struct cluster_copy_owner_hooks cluster_durability_hooks = {running, hold, release, last_end,
                                                                  covered};

/* ---- lives ---- */

/* Calls that no copy has given back may be missing in the state. */
static uint64_t end_to_keep(const struct cluster_dispatch *core,
                            const struct cluster_local_container *local, uint64_t covered)
{
    if (durability_of(core, local->pool) != CLUSTER_DURABILITY_ACKED)
        return covered;
    return local->restored ? cluster_dedup_last_end(core->dedup) : 0;
}

/* It has a copy of this life, and not of one before. */
static bool has_joined(const struct cluster_dispatch *core, const struct cluster_holders_row *row)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(core->locals, row->pool, row->container);

    return row->held == row->joining && local && row->held_epoch == cluster_ids_epoch(local->token);
}

/* A node that joins the holders gets a whole state, also where no call runs.
 * r[impl cluster.hold.join] */
static void serve_joining(struct cluster_dispatch *core, uint64_t pool, uint32_t container)
{
    const struct cluster_holders_row *row = cluster_holders_find(core->holders, pool, container);

    if (row && row->joining != 0 && !has_joined(core, row))
        cluster_copy_owner_want_whole(core->copies, pool, container, core->now_ns);
}

int cluster_durability_begin(struct cluster_dispatch *core, uint64_t pool, uint32_t container,
                             uint64_t lineage, uint64_t covered)
{
    struct cluster_local_container *local =
        cluster_local_containers_find(core->locals, pool, container);
    uint8_t durability = durability_of(core, pool);
    const struct cluster_copy_owner_life life = {.pool = pool,
                                                 .container = container,
                                                 .token = local->token,
                                                 .acked = durability == CLUSTER_DURABILITY_ACKED};
    int status = cluster_dedup_begin(core->dedup, pool, container, lineage,
                                     end_to_keep(core, local, covered));

    local->copying = local->restored = false;
    if (status < 0 || durability < CLUSTER_DURABILITY_CHECKPOINT)
        return status;
    if (life.acked)
        cluster_held_ends_begin(core->dedup, pool, container);
    status = cluster_copy_owner_begin(core->copies, &life, core->now_ns);
    if (status == 0)
        serve_joining(core, pool, container);
    return status;
}

void cluster_durability_down(struct cluster_dispatch *core, uint64_t pool, uint32_t container)
{
    struct cluster_local_container *local =
        cluster_local_containers_find(core->locals, pool, container);

    cluster_copy_owner_down(core->copies, pool, container);
    if (local)
        local->copying = local->restored = false;
}

void cluster_durability_gone(struct cluster_dispatch *core, uint64_t pool, uint32_t container)
{
    cluster_copy_owner_remove(core->copies, pool, container);
    cluster_dedup_forget(core->dedup, pool, container);
}

void cluster_durability_ended(struct cluster_dispatch *core, uint64_t pool, uint32_t container)
{
    cluster_copy_owner_used(core->copies, pool, container, core->now_ns);
}

/* ---- events ---- */

int cluster_durability_holders(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_holders_put put = {
        .pool = event->pool,
        .revision = event->revision,
        .container = event->container,
        .record = event->holders,
        .reading = core->reading || core->catch_up.state != CLUSTER_CATCH_UP_CURRENT};
    int status = cluster_holders_put(core->holders, &put);

    cluster_naming_seen(core->naming, event->revision);
    if (status == 0)
        serve_joining(core, event->pool, event->container);
    return status;
}

/* A copy of this life is at the node that joins, too. */
static void note_held(struct cluster_dispatch *core, const struct cluster_event *event)
{
    struct cluster_holders_row *row =
        cluster_holders_find(core->holders, event->pool, event->container);

    if (row && cluster_holders_note_held(row, event->node, cluster_ids_epoch(event->token)))
        cluster_naming_changed(core->naming);
}

/* The ends of the life that begins are held from now on, if it has begun already.
 * r[impl cluster.copy.rollback] */
static int begin_history(struct cluster_dispatch *core, struct cluster_local_container *local)
{
    int status = cluster_dedup_begin(core->dedup, local->pool, local->container, local->lineage, 0);

    local->restored = false;
    if (status == 0)
        cluster_held_ends_begin(core->dedup, local->pool, local->container);
    return status;
}

/* The first copy of a file is a whole state: what was known before goes. In a pool whose lives have
 * lineages of their own the calls are not needed. */
int cluster_durability_restored(struct cluster_dispatch *core, const struct cluster_event *event)
{
    struct cluster_local_container *local =
        cluster_local_containers_find(core->locals, event->pool, event->container);
    const struct cluster_covered_read read = {event->pool, event->container, event->calls,
                                              event->numbers, event->numbers_count};
    int status = 0;

    if (!local || local->state != CLUSTER_LOCAL_BEGINNING)
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.copy.calls", "no such container begins");
    if (durability_of(core, event->pool) != CLUSTER_DURABILITY_ACKED)
        return 0;
    if (event->whole)
        status = begin_history(core, local);
    else if (!local->restored)
        status = rapahub_fail(RAPAHUB_EFORMAT, "cluster.copy.calls", "changes before a state");
    if (status == 0)
        status = cluster_covered_read(core->dedup, &read);
    if (status < 0)
        return status;
    local->restored = true;
    cluster_unheard_begin(core->dedup, event->pool, event->container, core->now_ns);
    cluster_held_ends_cover(core->dedup, event->pool, event->container,
                            cluster_dedup_last_end(core->dedup));
    return 0;
}

static int refuse(void)
{
    return rapahub_fail(RAPAHUB_ESTALE, "cluster.core.answer", "no such copy was asked for");
}

int cluster_durability_saved(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_copy_owner_saved(core->copies, event->id) ? 0 : refuse();
}

int cluster_durability_copied(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_copy_owner_copied copied = {event->id, event->status, event->whole,
                                                     event->state_size, event->changes_size};

    if (!cluster_copy_owner_copied(core->copies, &copied, core->now_ns))
        return refuse();
    note_held(core, event);
    return 0;
}

int cluster_durability_write(const struct cluster_dispatch *core,
                             const struct cluster_durability_copy *copy, struct hub_writer *to,
                             cluster_covered_body *body, void *user)
{
    struct cluster_copy_owner_span under_way;
    struct cluster_covered_span span;

    if (!cluster_copy_owner_span(core->copies, copy->id, &under_way))
        return refuse();
    span = (struct cluster_covered_span){under_way.pool, under_way.container,
                                         copy->whole ? 0 : under_way.after, under_way.until};
    return cluster_covered_write(core->dedup, &span, to, body, user);
}

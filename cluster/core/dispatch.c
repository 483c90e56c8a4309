/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/dispatch.h"

#include <rapahub/error.h>

#include "cluster/core/calls/peer_calls.h"
#include "cluster/core/durability.h"
#include "hub/base/check.h"

static int tick(struct cluster_dispatch *core, const struct cluster_event *event)
{
    (void)core;
    (void)event;
    return 0;
}

/* ---- the metastore ---- */

/* Operations and holders follow from pools and entries. */
static void changed(struct cluster_dispatch *core)
{
    cluster_ops_changed(core->ops);
    cluster_naming_changed(core->naming);
}

static void closes(void *user, uint64_t pool)
{
    struct cluster_dispatch *core = user;

    for (uint32_t c = 0; c < cluster_pools_find(core->pools, pool)->containers; c++)
        cluster_send_changed(core->send, pool, c, core->now_ns);
}

/* A pool that is being removed by another node takes no calls here from then on. */
static int take_pool(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(core->pools, event->pool);
    bool was_open = pool && pool->state != CLUSTER_POOL_DESTROYING;
    int status = 0;

    changed(core);
    if (!event->record)
        cluster_pools_remove(core->pools, event->pool);
    else
        status = cluster_pools_put(core->pools, event->pool, event->revision, event->record);
    if (status == 0 && event->record && was_open && pool->state == CLUSTER_POOL_DESTROYING)
        closes(core, event->pool);
    return status;
}

static int take_operation(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_ops_take_operation(core->ops, event->number, event->revision, event->operation);
}

static int take_next_pool(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_ops_take_next_pool(core->ops, event->number, event->revision);
}

/* The link to the node that leads may be up already. */
static int start(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_ops_start start = {event->session, event->boot, event->generation,
                                            event->node, event->term};
    const struct cluster_peer *lead = cluster_peers_find(core->peers, event->node);
    int status = cluster_ops_start(core->ops, &start);

    if (status == 0 && lead && lead->up)
        cluster_ops_link(core->ops, event->node, true);
    return status;
}

static int take_lead(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_peer *lead = cluster_peers_find(core->peers, event->node);

    cluster_naming_changed(core->naming);
    cluster_ops_lead(core->ops, event->node, event->term, lead && lead->up);
    return 0;
}

static int take_node(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_ops_node told = {event->node, event->session, event->revision,
                                          event->node_record};

    cluster_naming_changed(core->naming);
    return cluster_ops_take_node(core->ops, &told);
}

static int take_recovery(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_key key = {
        .kind = CLUSTER_KEY_RECOVERY, .node = event->node, .revision = event->session};

    return cluster_ops_take_recovery(core->ops, &key, event->revision, event->operation);
}

static int take_death(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_ops_take_death(core->ops, event->node, event->session,
                                  event->change == CLUSTER_DEATH_FINAL);
}

static int hold_dead(struct cluster_dispatch *core, const struct cluster_event *event)
{
    cluster_ops_hold_dead(core->ops, event->node, event->change == CLUSTER_HELD_DEAD);
    return 0;
}

/* ---- the map ---- */

static void hand_on(struct cluster_dispatch *core, struct cluster_list changes)
{
    struct cluster_delta_change change;

    changed(core);
    while (cluster_delta_next(&changes, &change))
        cluster_send_changed(core->send, change.pool, change.container, core->now_ns);
}

static int take_delta(struct cluster_dispatch *core, const struct cluster_event *event)
{
    struct cluster_delta delta;
    int status = cluster_delta_read(event->delta, &delta);

    if (status < 0)
        return status;
    if (cluster_catch_up_apply(&core->catch_up, event->revision, &delta) == CLUSTER_DELTA_APPLY)
        hand_on(core, delta.changes);
    return 0;
}

static int end_reading(struct cluster_dispatch *core, int status)
{
    core->reading = false;
    if (core->catch_up.state == CLUSTER_CATCH_UP_READING)
        cluster_catch_up_read_failed(&core->catch_up);
    return status;
}

static int begin_reading(struct cluster_dispatch *core, const struct cluster_event *event)
{
    int status;

    if (core->catch_up.state != CLUSTER_CATCH_UP_OUTDATED || !core->reading)
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.map.reading", "no reading was asked for");
    status = cluster_catch_up_read(&core->catch_up, event->revision);
    return status < 0 ? end_reading(core, status) : 0;
}

static int take_entry(struct cluster_dispatch *core, const struct cluster_event *event)
{
    int status;

    if (core->catch_up.state != CLUSTER_CATCH_UP_READING)
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.map.reading", "no reading is under way");
    status = cluster_catch_up_entry(&core->catch_up, event->pool, event->container, event->revision,
                                    event->entry);
    return status < 0 ? end_reading(core, status) : 0;
}

static int take_read(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_address *address;
    uint32_t place = 0;

    cluster_holders_read(core->holders);
    if (core->catch_up.state != CLUSTER_CATCH_UP_READING || event->status < 0)
        return end_reading(core, 0);
    core->reading = false;
    cluster_catch_up_read_end(&core->catch_up);
    changed(core);
    while ((address = cluster_address_map_after(core->map, &place)))
        cluster_send_changed(core->send, address->pool, address->container, core->now_ns);
    return 0;
}

/* ---- containers ---- */

static int change_container(struct cluster_dispatch *core, const struct cluster_event *event)
{
    if (event->change != CLUSTER_CONTAINER_DOWN ||
        !cluster_local_containers_find(core->locals, event->pool, event->container))
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.local.states", "it has no such container");
    cluster_ops_down(core->ops, event->pool, event->container);
    return 0;
}

/* ---- operations ---- */

static int begun(void *user, uint64_t pool, uint32_t container, uint64_t lineage, uint64_t covered)
{
    struct cluster_dispatch *core = user;

    return cluster_durability_begin(core, pool, container, lineage, covered);
}

static void serves(void *user, uint64_t pool, uint32_t container)
{
    struct cluster_dispatch *core = user;

    cluster_send_changed(core->send, pool, container, core->now_ns);
}

static void down(void *user, uint64_t pool, uint32_t container)
{
    struct cluster_dispatch *core = user;

    cluster_durability_down(core, pool, container);
    cluster_send_down(core->send, pool, container, core->now_ns);
    cluster_send_changed(core->send, pool, container, core->now_ns);
}

static void gone(void *user, uint64_t pool, uint32_t container)
{
    struct cluster_dispatch *core = user;

    cluster_durability_gone(core, pool, container);
    down(user, pool, container);
}

const struct cluster_context_hooks cluster_dispatch_hooks = {begun, serves, down, gone, closes};

static int take_order(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_ops_order(core->ops, event->order);
}

static int cancel_order(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_ops_cancel(core->ops, event->number);
}

static int end_txn(struct cluster_dispatch *core, const struct cluster_event *event)
{
    cluster_naming_changed(core->naming);
    if (cluster_naming_stored(core->naming, event->id, event->status, event->revision))
        return 0;
    return cluster_ops_stored(core->ops, event->id, event->status, event->revision);
}

static int end_begin(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_lives_answer answer = {event->id, event->covered, event->status,
                                                event->text};

    return cluster_ops_begun(core->ops, &answer);
}

static int end_removal(struct cluster_dispatch *core, const struct cluster_event *event)
{
    const struct cluster_lives_answer answer = {
        .id = event->id, .status = event->status, .text = event->text};

    return cluster_ops_removed(core->ops, &answer);
}

/* ---- calls ---- */

static int begin_call(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_send_begin(core->send, event->call, core->now_ns);
}

static int cancel_call(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_send_cancel(core->send, event->number, core->now_ns)
               ? 0
               : rapahub_fail(RAPAHUB_ENOENT, "cluster.call.once", "no such call is open");
}

static int end_origin(struct cluster_dispatch *core, const struct cluster_event *event)
{
    cluster_dedup_end_origin(core->dedup, event->number);
    return 0;
}

/* There is no place for an answer: one that is outside is needed no more. */
static struct cluster_dedup_answer lose_answer(const struct cluster_dispatch *core,
                                               const struct cluster_payload_body *body)
{
    if (body->number != 0 && cluster_effects_space(core->effects) > 0)
        cluster_effects_add(core->effects, &(struct cluster_effect){.kind = CLUSTER_EFFECT_DROP,
                                                                    .payload = body->number});
    return (struct cluster_dedup_answer){.status = RAPAHUB_EMAYBE};
}

/* A run that its guest did not survive has no answer: its container goes down, and that is told. */
static int end_run(struct cluster_dispatch *core, const struct cluster_event *event)
{
    struct cluster_receive receive = {.dedup = core->dedup,
                                      .payload = core->payload,
                                      .pending = core->pending,
                                      .effects = core->effects};
    struct cluster_dedup_answer answer = {event->status, event->application,
                                          cluster_payload_keep(core->payload, &event->body)};
    struct cluster_receive_end end;

    if (answer.payload == 0)
        answer = lose_answer(core, &event->body);
    if (cluster_receive_end(&receive, event->id, &answer, &end) && event->status != RAPAHUB_EDIED) {
        if (end.asker != 0)
            cluster_send_ended(core->send, end.asker, &answer, core->now_ns);
        cluster_durability_ended(core, end.pool, end.container);
    }
    if (answer.payload != 0)
        cluster_payload_drop(core->payload, answer.payload);
    return 0;
}

/* ---- other nodes ---- */

static int change_peer(struct cluster_dispatch *core, const struct cluster_event *event)
{
    cluster_ops_link(core->ops, event->node, event->change == CLUSTER_PEER_UP);
    if (event->change == CLUSTER_PEER_UP)
        return cluster_peer_calls_up(core->send, event->node, event->session, core->now_ns);
    if (event->change == CLUSTER_PEER_LOST)
        cluster_peer_calls_lost(core->send, event->node, core->now_ns);
    else
        cluster_peer_calls_left(core->send, event->node, core->now_ns);
    return 0;
}

static int take_frame(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_peer_calls_take(core->send, event->frame, &event->body, core->now_ns);
}

static int take_report(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_ops_take_report(core->ops, event->node, event->session, event->done);
}

static int take_held(struct cluster_dispatch *core, const struct cluster_event *event)
{
    return cluster_naming_take_held(core->naming, event->node, event->session, event->held);
}

static int take_verdict(struct cluster_dispatch *core, const struct cluster_event *event)
{
    cluster_naming_verdict(core->naming, event->node, event->status < 0);
    return 0;
}

/* ---- the end ---- */

static int stop(struct cluster_dispatch *core, const struct cluster_event *event)
{
    (void)event;
    cluster_copy_owner_stop(core->copies, core->now_ns);
    return 0;
}

static int (*const handlers[CLUSTER_EVENT_KINDS])(struct cluster_dispatch *core,
                                                  const struct cluster_event *event) = {
    [CLUSTER_EVENT_TICK] = tick,
    [CLUSTER_EVENT_POOL] = take_pool,
    [CLUSTER_EVENT_OPERATION] = take_operation,
    [CLUSTER_EVENT_NEXT_POOL] = take_next_pool,
    [CLUSTER_EVENT_STARTED] = start,
    [CLUSTER_EVENT_DELTA] = take_delta,
    [CLUSTER_EVENT_READING] = begin_reading,
    [CLUSTER_EVENT_ENTRY] = take_entry,
    [CLUSTER_EVENT_READ] = take_read,
    [CLUSTER_EVENT_CONTAINER] = change_container,
    [CLUSTER_EVENT_CALL] = begin_call,
    [CLUSTER_EVENT_CANCEL] = cancel_call,
    [CLUSTER_EVENT_ORIGIN_ENDED] = end_origin,
    [CLUSTER_EVENT_RUN] = end_run,
    [CLUSTER_EVENT_STORE] = end_txn,
    [CLUSTER_EVENT_BEGUN] = end_begin,
    [CLUSTER_EVENT_REMOVED] = end_removal,
    [CLUSTER_EVENT_ORDER] = take_order,
    [CLUSTER_EVENT_ORDER_CANCEL] = cancel_order,
    [CLUSTER_EVENT_SAVED] = cluster_durability_saved,
    [CLUSTER_EVENT_COPIED] = cluster_durability_copied,
    [CLUSTER_EVENT_RESTORED] = cluster_durability_restored,
    [CLUSTER_EVENT_STOPS] = stop,
    [CLUSTER_EVENT_PEER] = change_peer,
    [CLUSTER_EVENT_ARRIVED] = take_frame,
    [CLUSTER_EVENT_NODE] = take_node,
    [CLUSTER_EVENT_REPORTED] = take_report,
    [CLUSTER_EVENT_RECOVERY] = take_recovery,
    [CLUSTER_EVENT_DEATH] = take_death,
    [CLUSTER_EVENT_HELD_DEAD] = hold_dead,
    [CLUSTER_EVENT_HOLDERS] = cluster_durability_holders,
    [CLUSTER_EVENT_HELD] = take_held,
    [CLUSTER_EVENT_VERDICT] = take_verdict,
    [CLUSTER_EVENT_LEAD] = take_lead};

int cluster_dispatch_event(struct cluster_dispatch *core, const struct cluster_event *event)
{
    CHECK(event->kind < CLUSTER_EVENT_KINDS);
    if (!handlers[event->kind])
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "nothing takes events of kind %u", event->kind);
    return handlers[event->kind](core, event);
}

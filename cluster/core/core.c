/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/core.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/timers.h"
#include "cluster/core/calls/unheard.h"
#include "cluster/core/durability.h"

/* Questions of operations: calls leave space for them. */
#define OPERATIONS_ASK (CLUSTER_LIVES_ASKED_MAX + 2)

struct cluster_core {
    struct cluster_dispatch parts;
    uint64_t told_ns; /* the last timer that was asked for */
};

static int make_map(struct cluster_dispatch *parts)
{
    const struct cluster_limits *limits = &parts->limits;
    struct hub_random *random = &parts->random;
    int status = cluster_pools_create(limits->pools, hub_random_next(random), &parts->pools);

    if (status == 0)
        status = cluster_address_map_create(limits->entries, hub_random_next(random), &parts->map);
    if (status == 0)
        status = cluster_local_containers_create(limits->containers, hub_random_next(random),
                                                 &parts->locals);
    cluster_catch_up_init(&parts->catch_up, parts->map);
    return status;
}

static int make_base(struct cluster_dispatch *parts)
{
    const struct cluster_limits *limits = &parts->limits;
    int status = cluster_effects_create(limits->effects, &parts->effects);

    if (status == 0)
        status = cluster_payload_create(limits->payloads, parts->effects, &parts->payload);
    if (status == 0)
        status = cluster_pending_create(limits->calls + limits->containers + OPERATIONS_ASK,
                                        &parts->pending);
    return status;
}

static int make_peers(struct cluster_dispatch *parts)
{
    int status = cluster_peers_create(&parts->limits, &parts->peers);

    return status < 0 ? status
                      : cluster_known_lives_create(parts->limits.containers,
                                                   hub_random_next(&parts->random), &parts->lives);
}

static int make_calls(struct cluster_dispatch *parts)
{
    const struct cluster_limits *limits = &parts->limits;
    struct cluster_send_parts send = {
        .resolve = {parts->pools, parts->map, parts->locals, parts->node, &parts->catch_up},
        .receive = {.locals = parts->locals,
                    .payload = parts->payload,
                    .pending = parts->pending,
                    .effects = parts->effects}};
    int status = cluster_dedup_create(limits, hub_random_next(&parts->random), parts->payload,
                                      &parts->dedup);

    if (status == 0)
        status = cluster_parking_create(limits, hub_random_next(&parts->random), &parts->parking);
    if (status == 0)
        status = cluster_retry_create(limits, &parts->random, &parts->retry);
    if (status == 0)
        status =
            cluster_order_create(limits->calls, hub_random_next(&parts->random), &parts->order);
    if (status == 0)
        status = make_peers(parts);
    if (status < 0)
        return status;
    send.receive.dedup = parts->dedup;
    send.parking = parts->parking;
    send.retry = parts->retry;
    send.order = parts->order;
    send.peers = parts->peers;
    send.lives = parts->lives;
    return cluster_send_create(limits, &send, hub_random_next(&parts->random), &parts->send);
}

static int make_ops(struct cluster_dispatch *parts)
{
    const struct cluster_context context = {.limits = &parts->limits,
                                            .node = parts->node,
                                            .pools = parts->pools,
                                            .map = parts->map,
                                            .catch_up = &parts->catch_up,
                                            .locals = parts->locals,
                                            .holders = parts->holders,
                                            .pending = parts->pending,
                                            .effects = parts->effects,
                                            .hooks = &cluster_dispatch_hooks,
                                            .user = parts};

    int status = cluster_ops_create(&context, hub_random_next(&parts->random), &parts->ops);

    if (status == 0)
        status =
            cluster_naming_create(cluster_ops_context(parts->ops), parts->holders, &parts->naming);
    return status;
}

static int make_copies(struct cluster_dispatch *parts)
{
    const struct cluster_copy_owner_parts copies = {parts->effects, parts->pending,
                                                    &cluster_durability_hooks, parts};
    uint64_t secret = hub_random_next(&parts->random);
    int status =
        cluster_copy_owner_create(parts->limits.containers, secret, &copies, &parts->copies);

    if (status == 0)
        status = cluster_holders_create(parts->limits.entries, secret, &parts->holders);
    return status;
}

int cluster_core_create(const struct cluster_limits *limits, uint32_t node, uint64_t seed,
                        struct cluster_core **out)
{
    struct cluster_core *core = calloc(1, sizeof *core);
    int status;

    *out = core;
    if (!core)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a node");
    core->parts.limits = *limits;
    core->parts.node = node;
    core->told_ns = CLUSTER_TIMERS_NEVER;
    hub_random_init(&core->parts.random, seed);
    status = make_base(&core->parts);
    if (status == 0)
        status = make_map(&core->parts);
    if (status == 0)
        status = make_calls(&core->parts);
    if (status == 0)
        status = make_copies(&core->parts);
    if (status == 0)
        status = make_ops(&core->parts);
    if (status < 0)
        cluster_core_release(out);
    return status;
}

void cluster_core_release(struct cluster_core **core)
{
    if (*core) {
        struct cluster_dispatch *parts = &(*core)->parts;

        cluster_naming_release(&parts->naming);
        cluster_ops_release(&parts->ops);
        cluster_holders_release(&parts->holders);
        cluster_copy_owner_release(&parts->copies);
        cluster_send_release(&parts->send);
        cluster_known_lives_release(&parts->lives);
        cluster_peers_release(&parts->peers);
        cluster_order_release(&parts->order);
        cluster_retry_release(&parts->retry);
        cluster_parking_release(&parts->parking);
        cluster_dedup_release(&parts->dedup);
        cluster_local_containers_release(&parts->locals);
        cluster_address_map_release(&parts->map);
        cluster_pools_release(&parts->pools);
        cluster_pending_release(&parts->pending);
        cluster_payload_release(&parts->payload);
        cluster_effects_release(&parts->effects);
    }
    free(*core);
    *core = NULL;
}

/* Asks for a reading of the map, or for the next step, unless that was asked for. */
static void ask(struct cluster_core *core)
{
    struct cluster_dispatch *parts = &core->parts;
    uint64_t moments[] = {cluster_send_next(parts->send), cluster_ops_next(parts->ops),
                          cluster_copy_owner_next(parts->copies),
                          cluster_naming_next(parts->naming), cluster_unheard_next(parts->dedup)};
    uint64_t next = moments[0];

    for (size_t i = 1; i < sizeof moments / sizeof *moments; i++)
        next = moments[i] < next ? moments[i] : next;

    if (parts->catch_up.state == CLUSTER_CATCH_UP_OUTDATED && !parts->reading &&
        cluster_effects_space(parts->effects) > 0) {
        cluster_effects_add(parts->effects, &(struct cluster_effect){.kind = CLUSTER_EFFECT_RANGE});
        parts->reading = true;
    }
    if (next == core->told_ns || cluster_effects_space(parts->effects) == 0)
        return;
    core->told_ns = next;
    if (next != CLUSTER_TIMERS_NEVER)
        cluster_effects_add(parts->effects,
                            &(struct cluster_effect){.kind = CLUSTER_EFFECT_TIMER, .at_ns = next});
}

/* r[impl cluster.core.pure] */
int cluster_core_step(struct cluster_core *core, const struct cluster_event *event,
                      struct cluster_effects *out)
{
    struct cluster_dispatch *parts = &core->parts;
    struct cluster_receive receive = {.locals = parts->locals, .pending = parts->pending};
    int status;

    if (event->now_ns > parts->now_ns)
        parts->now_ns = event->now_ns;
    if (parts->now_ns >= core->told_ns)
        core->told_ns = CLUSTER_TIMERS_NEVER;
    cluster_ops_set_time(parts->ops, parts->now_ns);
    status = cluster_dispatch_event(parts, event);
    cluster_ops_step(parts->ops);
    cluster_naming_step(parts->naming, parts->now_ns);
    cluster_copy_owner_tick(parts->copies, parts->now_ns);
    cluster_send_tick(parts->send, parts->now_ns);
    cluster_unheard_tick(parts->dedup, parts->now_ns);
    cluster_payload_say_dropped(parts->payload);
    ask(core);
    if (cluster_effects_take(parts->effects, parts->now_ns, out))
        core->told_ns = CLUSTER_TIMERS_NEVER; /* "now" has taken the place of what was told */
    cluster_receive_sift(&receive, out);
    return status;
}

int cluster_core_covered(const struct cluster_core *core,
                         const struct cluster_durability_copy *copy, struct hub_writer *to,
                         cluster_covered_body *body, void *user)
{
    return cluster_durability_write(&core->parts, copy, to, body, user);
}

const struct cluster_dispatch *cluster_core_parts(const struct cluster_core *core)
{
    return &core->parts;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/check.h"

#include "cluster/core/calls/peer_calls.h"

static const char *check_bounds(const struct cluster_dispatch *core)
{
    const struct cluster_limits *limits = &core->limits;
    struct cluster_parking_figures parked = cluster_parking_figures(core->parking, 0, 0);
    struct cluster_retry_figures retried = cluster_retry_figures(core->retry);

    if (parked.calls > limits->parked || parked.bytes > limits->parked_bytes)
        return "more calls are parked than may be";
    if (retried.calls > limits->retries || retried.bytes > limits->retry_bytes)
        return "more calls wait to be tried again than may";
    if (cluster_ops_orders(core->ops) > CLUSTER_ORDERS_MAX)
        return "more orders are open than may be";
    if (cluster_lives_asked(cluster_ops_lives(core->ops)) > cluster_pending_count(core->pending))
        return "containers begin, and nobody was asked for them";
    return cluster_send_figures(core->send).members > limits->calls
               ? "more calls are open than may be"
               : NULL;
}

/* Each member that waits is in one place. */
static const char *check_members(const struct cluster_dispatch *core)
{
    uint32_t members = cluster_send_figures(core->send).members;
    uint32_t waiting = cluster_parking_figures(core->parking, 0, 0).calls +
                       cluster_retry_figures(core->retry).calls;

    if (cluster_order_count(core->order) > members)
        return "more calls are in an order than are open";
    return waiting > members ? "more calls wait than are open" : NULL;
}

static const char *check_containers(const struct cluster_dispatch *core)
{
    const struct cluster_local_container *local;
    uint32_t place = 0;

    while ((local = cluster_local_containers_after(core->locals, &place)))
        if (local->state == CLUSTER_LOCAL_SERVING && !local->copying &&
            cluster_parking_figures(core->parking, local->pool, local->container).calls > 0)
            return "a call is parked at a container that serves";
    return NULL;
}

const char *cluster_check_core(const struct cluster_dispatch *core)
{
    const char *broken = check_bounds(core);

    if (!broken)
        broken = check_members(core);
    if (!broken)
        broken = check_containers(core);
    if (!broken && !cluster_dedup_is_sound(core->dedup))
        broken = "the counts of remembered calls are wrong";
    if (!broken && !cluster_peer_calls_are_counted(core->send))
        broken = "the counts of calls of other nodes are wrong";
    if (!broken && core->catch_up.state == CLUSTER_CATCH_UP_CURRENT && core->reading)
        broken = "a map that is current is read";
    return broken;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/resolve.h"

#include <inttypes.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/wire/frame.h"

static int find_pool(const struct cluster_resolve *resolve, uint64_t number,
                     const struct cluster_pools_pool **out)
{
    struct rapahub_pool_id id = cluster_ids_pool_of(number);

    *out = cluster_pools_find(resolve->pools, number);
    return *out ? 0
                : rapahub_fail(RAPAHUB_ENOPOOL, "cluster.resolve.query", "pool %u.%u", id.major,
                               id.minor);
}

static int find_range(const struct cluster_pools_pool *pool, uint64_t offset, uint64_t count,
                      struct cluster_resolve_members *out)
{
    *out = (struct cluster_resolve_members){.first = (uint32_t)offset, .count = (uint32_t)count};
    if (count > 0 && offset < pool->containers && count <= pool->containers - offset)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "cluster.resolve.query",
                        "%" PRIu64 " containers from %" PRIu64 ": pool %s has %u", count, offset,
                        pool->name, pool->containers);
}

/* The container is looked for on this node, whatever the map says: it is the one that is meant. */
static int find_local(const struct cluster_resolve *resolve, const struct cluster_pools_pool *pool,
                      struct cluster_resolve_members *out)
{
    const struct cluster_local_container *local =
        cluster_local_containers_any(resolve->locals, pool->pool);

    if (!local)
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "cluster.resolve.query",
                            "pool %s has no container on this node", pool->name);
    *out = (struct cluster_resolve_members){local->container, 1, resolve->node};
    return 0;
}

static int find_physical(const struct cluster_resolve *resolve,
                         const struct cluster_pools_pool *pool, uint64_t node,
                         struct cluster_resolve_members *out)
{
    uint32_t container = pool->containers;

    if (node == resolve->node)
        return find_local(resolve, pool, out);
    if (node > 0 && node <= UINT32_MAX)
        container =
            cluster_address_map_of_node(resolve->map, pool->pool, pool->containers, (uint32_t)node);
    if (container == pool->containers)
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "cluster.resolve.query",
                            "pool %s has no container on node %" PRIu64, pool->name, node);
    *out = (struct cluster_resolve_members){container, 1, (uint32_t)node};
    return 0;
}

/* r[impl cluster.resolve.query] */
int cluster_resolve_members(const struct cluster_resolve *resolve, uint64_t pool_number,
                            const struct cluster_resolve_query *query,
                            struct cluster_resolve_members *out)
{
    const struct cluster_pools_pool *pool;
    int status = find_pool(resolve, pool_number, &pool);

    if (status < 0)
        return status;
    switch (query->mode) {
    case CLUSTER_MODE_DIRECT:
        return find_range(pool, query->offset, 1, out);
    case CLUSTER_MODE_LOCAL:
        return find_local(resolve, pool, out);
    case CLUSTER_MODE_PHYSICAL:
        return find_physical(resolve, pool, query->number, out);
    case CLUSTER_MODE_HASH:
        return find_range(pool, cluster_pools_container(resolve->pools, pool, query->number), 1,
                          out);
    case CLUSTER_MODE_RANGE:
        return find_range(pool, query->offset, query->count, out);
    case CLUSTER_MODE_BROADCAST:
        return find_range(pool, 0, pool->containers, out);
    default:
        return rapahub_fail(RAPAHUB_ENOTSUP, "cluster.resolve.query",
                            "nothing of pool %s answers a query of mode %u", pool->name,
                            query->mode);
    }
}

/* r[impl cluster.resolve.method] */
int cluster_resolve_method(const struct cluster_resolve *resolve, uint64_t pool_number,
                           uint64_t method, struct cluster_pools_method *out)
{
    const struct cluster_pools_pool *pool;
    const struct cluster_pools_method *found;
    int status = find_pool(resolve, pool_number, &pool);

    if (status < 0)
        return status;
    found = cluster_pools_method(resolve->pools, pool, method);
    if (!found)
        return rapahub_fail(RAPAHUB_ENOMETHOD, "cluster.resolve.method",
                            "pool %s has no method %016" PRIx64, pool->name, method);
    *out = *found;
    return 0;
}

/* Nothing here begins it again before a person says so. r[impl cluster.resolve.nowhere] */
static int refuse_quarantined(const struct cluster_pools_pool *pool, uint32_t container)
{
    return rapahub_fail(RAPAHUB_EGIVENUP, "cluster.resolve.nowhere",
                        "container %u of pool %s is quarantined, for it failed to begin too often: "
                        "`rapahub describe pool %s` says why, `rapahub release %s#%u` begins it "
                        "again",
                        container, pool->name, pool->name, pool->name, container);
}

/* The token with which the epoch of an entry begins; its session has the generation. */
static uint64_t token_of(const struct cluster_entry *entry)
{
    return cluster_ids_token(cluster_ids_generation(entry->session), entry->epoch, 0);
}

/* Two steps, and in this order. The container is here: the map may not know it yet, or not any
 * more. The map says that it is here: it will be, and a call that was sent to its owner would come
 * back. r[impl cluster.resolve.twice] r[impl cluster.resolve.hops] */
int cluster_resolve_target(const struct cluster_resolve *resolve, uint64_t pool, uint32_t container,
                           uint32_t hops, struct cluster_resolve_target *out)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(resolve->locals, pool, container);
    const struct cluster_address *address = cluster_address_map_find(resolve->map, pool, container);
    const struct cluster_pools_pool *known;
    int status = find_pool(resolve, pool, &known);

    if (status < 0)
        return status;
    if (known->state == CLUSTER_POOL_DESTROYING)
        return rapahub_fail(RAPAHUB_ENOPOOL, "cluster.resolve.nowhere",
                            "pool %s is being removed: `rapahub apply` makes it anew", known->name);
    *out = (struct cluster_resolve_target){.way = CLUSTER_WAY_WAIT};
    if (local) {
        out->token = local->token;
        out->lineage = local->lineage;
        out->copying = local->state == CLUSTER_LOCAL_SERVING && local->copying;
        if (local->state == CLUSTER_LOCAL_SERVING && !local->copying)
            out->way = CLUSTER_WAY_RUN;
        return 0;
    }
    if (address && address->entry.owner == resolve->node)
        return 0;
    if (address && address->entry.state == CLUSTER_ENTRY_QUARANTINED)
        return refuse_quarantined(known, container);
    if (!address || address->entry.owner == 0) {
        out->way = CLUSTER_WAY_NOWHERE;
        return 0;
    }
    if (hops >= CLUSTER_FRAME_TTL)
        return rapahub_fail(RAPAHUB_EHOPS, "cluster.resolve.hops",
                            "the call was handed on %u times, and its container is still elsewhere",
                            hops);
    out->way = CLUSTER_WAY_SEND;
    out->node = address->entry.owner;
    out->token = token_of(&address->entry);
    out->lineage = address->entry.lineage;
    return 0;
}

/* ---- a call of another node ---- */

bool cluster_resolve_is_behind(const struct cluster_resolve *resolve, uint64_t revision)
{
    return resolve->catch_up && resolve->catch_up->revision < revision;
}

/* r[impl cluster.peer.token] */
bool cluster_resolve_is_stale(const struct cluster_resolve *resolve, uint64_t pool,
                              uint32_t container, uint64_t token)
{
    const struct cluster_address *address = cluster_address_map_find(resolve->map, pool, container);

    return !address || token < token_of(&address->entry);
}

/* The lives of one epoch differ in the lowest bits of their tokens. */
static bool is_of_epoch(uint64_t token, uint64_t of_epoch)
{
    return cluster_ids_generation(token) == cluster_ids_generation(of_epoch) &&
           cluster_ids_epoch(token) == cluster_ids_epoch(of_epoch);
}

static void stay(const struct cluster_local_container *local, struct cluster_resolve_verdict *out)
{
    out->step = CLUSTER_ARRIVED_WAIT;
    out->token = local->token;
    out->lineage = local->lineage;
    out->copying = local->state == CLUSTER_LOCAL_SERVING && local->copying;
    if (local->state == CLUSTER_LOCAL_SERVING && !local->copying)
        out->step = CLUSTER_ARRIVED_RUN;
}

/* Only the node where a call began says which lineage may admit it: else two could, one after the
 * other. So it is handed on with the lineage that it has. r[impl cluster.peer.forward] */
static void leave(const struct cluster_resolve *resolve, const struct cluster_resolve_arrival *call,
                  const struct cluster_address *address, struct cluster_resolve_verdict *out)
{
    const struct cluster_entry *entry = &address->entry;

    out->node = entry->owner;
    out->token = token_of(entry);
    out->epoch = entry->epoch;
    out->lineage = entry->lineage;
    if (call->pinned || entry->owner == 0 || entry->owner == resolve->node ||
        entry->lineage != call->lineage || entry->epoch < cluster_ids_epoch(call->token))
        return;
    if (call->ttl == 0)
        out->reason = CLUSTER_NACK_HOPS;
    else
        out->step = CLUSTER_ARRIVED_FORWARD;
}

/* The container has a later epoch than the one that is meant: the map of its sender is old, and so
 * may be the one here. */
static void tell_later(const struct cluster_resolve *resolve,
                       const struct cluster_local_container *local,
                       struct cluster_resolve_verdict *out)
{
    out->node = resolve->node;
    out->epoch = cluster_ids_epoch(local->token);
    out->lineage = local->lineage;
}

static bool find_method(const struct cluster_resolve *resolve,
                        const struct cluster_resolve_arrival *call,
                        struct cluster_resolve_verdict *out)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(resolve->pools, call->pool);
    const struct cluster_pools_method *method;

    if (!pool && cluster_resolve_is_behind(resolve, call->revision))
        out->step = CLUSTER_ARRIVED_BEHIND;
    if (!pool || pool->state == CLUSTER_POOL_DESTROYING || call->container >= pool->containers)
        return false;
    method = cluster_pools_method(resolve->pools, pool, call->method);
    out->reason = CLUSTER_NACK_VERSION;
    if (method)
        out->method = *method;
    return method != NULL;
}

/* The same two steps as for a call of this node. r[impl cluster.peer.twice] */
void cluster_resolve_arrived(const struct cluster_resolve *resolve,
                             const struct cluster_resolve_arrival *call,
                             struct cluster_resolve_verdict *out)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(resolve->locals, call->pool, call->container);
    const struct cluster_address *address =
        cluster_address_map_find(resolve->map, call->pool, call->container);
    uint64_t epoch = cluster_ids_epoch(call->token);

    *out = (struct cluster_resolve_verdict){.step = CLUSTER_ARRIVED_REFUSE,
                                            .reason = CLUSTER_NACK_UNKNOWN};
    if (!find_method(resolve, call, out))
        return;
    out->reason = CLUSTER_NACK_MOVED;
    if (local && is_of_epoch(local->token, call->token) &&
        !(address && address->entry.epoch > epoch))
        stay(local, out);
    else if (local && local->token > call->token && !is_of_epoch(local->token, call->token))
        tell_later(resolve, local, out);
    else if (address && address->entry.owner == resolve->node && address->entry.epoch == epoch)
        out->step = CLUSTER_ARRIVED_WAIT;
    else if (cluster_resolve_is_behind(resolve, call->revision))
        out->step = CLUSTER_ARRIVED_BEHIND;
    else if (address)
        leave(resolve, call, address, out);
}

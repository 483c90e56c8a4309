/* SPDX-License-Identifier: Apache-2.0 */
/* resolve: where a call goes: first which containers its query means, once; then where each of them
 * is, again for each attempt. The containers of a query lie side by side, so a range names them.
 */
#ifndef CLUSTER_CORE_CALLS_RESOLVE_H
#define CLUSTER_CORE_CALLS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/map/address_map.h"
#include "cluster/core/map/local_containers.h"
#include "cluster/core/map/pools.h"
#include "cluster/wire/body.h"

struct cluster_resolve {
    const struct cluster_pools *pools;
    const struct cluster_address_map *map;
    const struct cluster_local_containers *locals;
    uint32_t node; /* this one */
};

struct cluster_resolve_query {
    uint8_t mode;           /* enum cluster_body_mode */
    uint64_t number;        /* HASH: the hash; PHYSICAL: the node */
    uint32_t offset, count; /* RANGE; DIRECT: the offset is the container */
};

struct cluster_resolve_members {
    uint32_t first, count;
    bool pinned; /* they are meant on the node where they are now: not looked for elsewhere */
};

/* Finds the containers that a query means. RAPAHUB_ENOPOOL: no such pool; -EINVAL: it has no such
 * containers; RAPAHUB_ENOTLOCAL: it has none on the node that the query names; -ENOTSUP: nothing
 * here answers a query of this mode. */
int cluster_resolve_members(const struct cluster_resolve *resolve, uint64_t pool,
                            const struct cluster_resolve_query *query,
                            struct cluster_resolve_members *out);

/* Refuses a method that no container of the pool has: RAPAHUB_ENOMETHOD. Else returns 0 and the
 * method. */
int cluster_resolve_method(const struct cluster_resolve *resolve, uint64_t pool, uint64_t method,
                           struct cluster_pools_method *out);

enum cluster_resolve_way {
    CLUSTER_WAY_RUN,    /* it serves here */
    CLUSTER_WAY_WAIT,   /* it is here, or will be, but does not serve now */
    CLUSTER_WAY_SEND,   /* another node has it */
    CLUSTER_WAY_NOWHERE /* no node has it now */
};

struct cluster_resolve_target {
    enum cluster_resolve_way way;
    uint32_t node;    /* SEND: which */
    uint64_t lineage; /* RUN: the container's */
    bool copying;     /* WAIT: but for a call of a chain that runs there it is RUN */
};

/* Finds out where a container of a pool is. RAPAHUB_ENOPOOL: its pool is gone, or is being removed;
 * RAPAHUB_EGIVENUP: it is quarantined; the text has the remedy. RAPAHUB_EHOPS: another node has it,
 * and the call has been handed on `hops` times already, as often as it may be. */
int cluster_resolve_target(const struct cluster_resolve *resolve, uint64_t pool, uint32_t container,
                           uint32_t hops, struct cluster_resolve_target *out);

#endif

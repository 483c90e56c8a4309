/* SPDX-License-Identifier: Apache-2.0 */
/* resolve: where a call goes: first which containers its query means, once; then where each of them
 * is, again for each attempt. The containers of a query lie side by side, so a range names them.
 */
#ifndef CLUSTER_CORE_CALLS_RESOLVE_H
#define CLUSTER_CORE_CALLS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/map/address_map.h"
#include "cluster/core/map/catch_up.h"
#include "cluster/core/map/local_containers.h"
#include "cluster/core/map/pools.h"
#include "cluster/wire/body.h"

struct cluster_resolve {
    const struct cluster_pools *pools;
    const struct cluster_address_map *map;
    const struct cluster_local_containers *locals;
    uint32_t node; /* this one */
    const struct cluster_catch_up *catch_up;
};

struct cluster_resolve_query {
    uint8_t mode;           /* enum cluster_body_mode */
    uint64_t number;        /* HASH: the hash; PHYSICAL: the node */
    uint32_t offset, count; /* RANGE; DIRECT: the offset is the container */
};

struct cluster_resolve_members {
    uint32_t first, count;
    uint32_t pinned; /* the node on which they are meant, and not looked for elsewhere; 0: any */
};

/* Finds the containers that a query means. RAPAHUB_ENOPOOL: no such pool; -EINVAL: it has no such
 * containers; RAPAHUB_ENOTLOCAL: it has none on the node that the query names; -ENOTSUP: a
 * query of mode DYNAMIC, for a container says where that goes, before. */
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
    uint64_t token;   /* RUN: of the container's life; SEND: of its epoch, the life being 0 */
    uint64_t lineage; /* RUN: the container's; SEND: of its entry */
    bool copying;     /* WAIT: but for a call of a chain that runs there it is RUN */
};

/* Finds out where a container of a pool is. RAPAHUB_ENOPOOL: its pool is gone, or is being removed;
 * RAPAHUB_EGIVENUP: it is quarantined; the text has the remedy. RAPAHUB_EHOPS: another node has it,
 * and the call has been handed on `hops` times already, as often as it may be. */
int cluster_resolve_target(const struct cluster_resolve *resolve, uint64_t pool, uint32_t container,
                           uint32_t hops, struct cluster_resolve_target *out);

/* Says whether the map of this node is older than this revision. */
bool cluster_resolve_is_behind(const struct cluster_resolve *resolve, uint64_t revision);

/* Says whether a life of a container has this token that is of an earlier epoch than its entry:
 * what it answers may be of no effect. */
bool cluster_resolve_is_stale(const struct cluster_resolve *resolve, uint64_t pool,
                              uint32_t container, uint64_t token);

/* A call that another node sent. */
struct cluster_resolve_arrival {
    uint64_t pool, method;
    uint32_t container;
    uint32_t ttl;
    uint64_t token;    /* the one with which the epoch begins that is meant */
    uint64_t lineage;  /* that may admit it */
    uint64_t revision; /* the map of its sender has it */
    bool pinned;
};

enum cluster_resolve_step {
    CLUSTER_ARRIVED_RUN,
    CLUSTER_ARRIVED_WAIT,   /* its container is here, or will be, but does not serve now */
    CLUSTER_ARRIVED_BEHIND, /* the map of this node is older than that of the sender */
    CLUSTER_ARRIVED_FORWARD,
    CLUSTER_ARRIVED_REFUSE
};

struct cluster_resolve_verdict {
    enum cluster_resolve_step step;
    uint8_t reason;   /* REFUSE: enum cluster_body_nack_reason */
    uint32_t node;    /* FORWARD, REFUSE: the owner; 0: none */
    uint64_t token;   /* RUN: of the container's life; FORWARD: of the epoch at its owner */
    uint64_t epoch;   /* REFUSE: of its entry, 0: unknown */
    uint64_t lineage; /* RUN, WAIT, REFUSE: the container's */
    bool copying;     /* WAIT: as of a target */
    struct cluster_pools_method method; /* but where it is refused */
};

/* Says what becomes of it: the container is here in the life's epoch that the sender means; or the
 * map says that it will be; or its owner is another node, to which it is handed on if that may
 * admit it; else it is refused, and was not admitted. */
void cluster_resolve_arrived(const struct cluster_resolve *resolve,
                             const struct cluster_resolve_arrival *call,
                             struct cluster_resolve_verdict *out);

#endif

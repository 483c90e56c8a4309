/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch: the parts of a core, and which of them an event concerns. */
#ifndef CLUSTER_CORE_DISPATCH_H
#define CLUSTER_CORE_DISPATCH_H

#include <stdbool.h>

#include "cluster/core/copies/copy_owner.h"
#include "cluster/core/copies/holders.h"
#include "cluster/core/event.h"
#include "cluster/core/map/catch_up.h"
#include "cluster/core/naming/naming.h"
#include "cluster/core/ops/ops.h"

struct cluster_dispatch {
    struct cluster_limits limits;
    uint32_t node;
    uint64_t now_ns;
    struct hub_random random;
    struct cluster_effects_queue *effects;
    struct cluster_payload *payload;
    struct cluster_pending *pending;
    struct cluster_pools *pools;
    struct cluster_address_map *map;
    struct cluster_local_containers *locals;
    struct cluster_catch_up catch_up;
    struct cluster_copy_owner *copies;
    struct cluster_holders *holders;
    struct cluster_dedup *dedup;
    struct cluster_parking *parking;
    struct cluster_retry *retry;
    struct cluster_order *order;
    struct cluster_peers *peers;
    struct cluster_known_lives *lives;
    struct cluster_send *send;
    struct cluster_ops *ops;
    struct cluster_naming *naming;
    bool reading; /* RANGE was asked for */
};

/* Operations tell the calls by these; the user is the core. */
extern const struct cluster_context_hooks cluster_dispatch_hooks;

/* Hands an event to its part. A negative return says why it was refused; then nothing has happened,
 * but for a failed reading, which is asked for again. */
int cluster_dispatch_event(struct cluster_dispatch *core, const struct cluster_event *event);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* context: the parts of a core that its operations use and change, and whom they tell. */
#ifndef CLUSTER_CORE_OPS_CONTEXT_H
#define CLUSTER_CORE_OPS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/effects.h"
#include "cluster/core/base/limits.h"
#include "cluster/core/base/pending.h"
#include "cluster/core/base/timers.h"
#include "cluster/core/map/catch_up.h"
#include "cluster/core/map/local_containers.h"
#include "cluster/core/map/pools.h"
#include "cluster/core/nodes/nodes.h"
#include "cluster/core/nodes/recoveries.h"
#include "cluster/core/session/session.h"

/* The calls for a container are told of its lives. */
struct cluster_context_hooks {
    /* A life has begun, with a copy that covers the first `covered` ends of its calls. A negative
     * return: it cannot take calls. */
    int (*begun)(void *user, uint64_t pool, uint32_t container, uint64_t lineage, uint64_t covered);
    void (*serves)(void *user, uint64_t pool, uint32_t container);
    void (*down)(void *user, uint64_t pool, uint32_t container);
    void (*gone)(void *user, uint64_t pool, uint32_t container); /* it will not come back here */
    void (*closes)(void *user,
                   uint64_t pool); /* it is being removed: no call comes to it any more */
};

struct cluster_holders;

struct cluster_context {
    const struct cluster_limits *limits;
    uint32_t node;
    uint32_t lead; /* the node that leads: it alone writes the map, pools and operations; 0: none */
    uint64_t term; /* the last put of the record that says so; 0: there is none */
    struct cluster_nodes *nodes;
    struct cluster_recoveries *recoveries;
    const struct cluster_holders *holders; /* who keeps copies; NULL: no record of it is known */
    struct cluster_session session;
    struct cluster_pools *pools;
    struct cluster_address_map *map;
    struct cluster_catch_up *catch_up;
    struct cluster_local_containers *locals;
    struct cluster_pending *pending;
    struct cluster_effects_queue *effects;
    const struct cluster_context_hooks *hooks;
    void *user; /* the hooks get it */
    uint64_t now_ns;
    uint64_t started_ns;         /* all that the metastore has was told then */
    uint64_t next_ns;            /* something is due; CLUSTER_TIMERS_NEVER: nothing */
    bool lead_up;                /* the link to the node that leads is up */
    uint32_t link;               /* counts how often it came up */
    uint32_t reports;            /* that were told in this step */
    bool changed;                /* something may follow from what has changed */
    uint64_t next_pool;          /* major number of the next pool */
    uint64_t next_pool_revision; /* the last put of its record; 0: there is none */
};

static inline bool cluster_context_leads(const struct cluster_context *context)
{
    return context->lead == context->node;
}

/* Returns the session that a node has now; 0: it has none, or is not known. */
static inline uint64_t cluster_context_session(const struct cluster_context *context, uint32_t node)
{
    return node == context->node ? context->session.revision
                                 : cluster_nodes_session(context->nodes, node);
}

/* Says whether this node has what a container keeps on a disk. Where no node is known it is the one
 * that leads. */
static inline bool cluster_context_holds(const struct cluster_context *context,
                                         const struct cluster_entry *entry)
{
    uint32_t holder = cluster_entry_holder(entry);

    return (holder != 0 ? holder : context->lead) == context->node;
}

/* Something is due at this time, or before. */
static inline void cluster_context_wake(struct cluster_context *context, uint64_t at_ns)
{
    if (at_ns < context->next_ns)
        context->next_ns = at_ns;
}

#endif

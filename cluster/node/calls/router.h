/* SPDX-License-Identifier: Apache-2.0 */
/* router: the calls of the host that its containers do not take by themselves go to the core of the
 * node, and their answers back. Calls of clients go the same way. Owner.
 */
#ifndef CLUSTER_NODE_CALLS_ROUTER_H
#define CLUSTER_NODE_CALLS_ROUTER_H

#include <stdint.h>

#include "cluster/core/base/effects.h"
#include "cluster/core/core.h"
#include "cluster/node/base/buffers.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/base/pool_records.h"
#include "cluster/node/calls/node_calls.h"

struct cluster_router;

struct cluster_router_parts { /* all live longer */
    struct rapahub_host *host;
    const struct cluster_core *core;
    struct cluster_event_queue *events;
    struct cluster_buffers *buffers;
    const struct cluster_pool_records *pools;
    uint64_t session;
    uint32_t node;
};

/* Makes the router, and has the host give it calls. */
int cluster_router_create(const struct cluster_router_parts *parts, struct cluster_router **out);

/* Does what is due, of calls that are not the core's yet. Returns when something will be, or
 * HUB_NEVER. */
uint64_t cluster_router_step(struct cluster_router *router, uint64_t now_ns);

/* New calls are refused from now on: RAPAHUB_ECLOSED. cluster_router_open says how many are left.
 */
void cluster_router_drain(struct cluster_router *router);
uint32_t cluster_router_open(const struct cluster_router *router);

/* No call of the host is left with it after this. Runs may still end: cluster_router_runs says how
 * many are open; only when there are none it may be released. */
void cluster_router_close(struct cluster_router *router);
uint32_t cluster_router_runs(const struct cluster_router *router);
void cluster_router_release(struct cluster_router **router);

/* FNV-1a of arguments, by which a uid that is used for another call is found out. */
uint64_t cluster_router_digest(struct rapahub_bytes arguments);

/* Hands a call that is no call of the host to the core, as its maker describes it, but for `number`
 * and `body`. `open` says who gets the answer. Returns 0 and the call's number; then the answer
 * comes once, perhaps before this returns. */
int cluster_router_call(struct cluster_router *router, const struct cluster_node_call *open,
                        const struct cluster_send_call *call, struct rapahub_bytes arguments,
                        uint64_t *number);

/* Ends a call early: its answer comes all the same, soon. */
void cluster_router_cancel(struct cluster_router *router, uint64_t number);

/* Carry out the effects RUN, EACH and ANSWER, and DROP. */
void cluster_router_run(struct cluster_router *router, const struct cluster_effect *effect);
void cluster_router_each(struct cluster_router *router, const struct cluster_effect *effect);
void cluster_router_answer(struct cluster_router *router, const struct cluster_effect *effect);

/* A container is down, which the core is told next. */
void cluster_router_down(struct cluster_router *router, uint64_t pool, uint32_t container);

/* The core has refused the call with this number, with the diagnosis of the thread. */
void cluster_router_refused(struct cluster_router *router, const struct cluster_send_call *call,
                            int status);

#endif

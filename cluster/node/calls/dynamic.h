/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic: calls whose query is DYNAMIC, until a container of their pool has said where they go. It
 * is asked by its callback `route`, on this node, and again where its guest dies. Owner.
 */
#ifndef CLUSTER_NODE_CALLS_DYNAMIC_H
#define CLUSTER_NODE_CALLS_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/core.h"
#include "cluster/node/base/buffers.h"
#include "hub/base/list.h"

struct rapahub_host;

/* How a choice ends, once: a constant table. A body that is outside is the hook's from then on. */
struct cluster_dynamic_hooks {
    /* The query is another one now, whose containers the pool has. */
    void (*chosen)(void *user, const struct cluster_send_call *call);
    /* With the diagnosis of the thread. */
    void (*failed)(void *user, const struct cluster_send_call *call, int status);
};

struct cluster_dynamic { /* its maker sets the first members, which live longer */
    struct rapahub_host *host;
    const struct cluster_core *core;
    const struct cluster_dynamic_hooks *hooks;
    void *user;
    struct hub_list open, waiting; /* choices: all, and those that are asked again later */
    uint32_t asks;                 /* under way in the host */
};

void cluster_dynamic_init(struct cluster_dynamic *dynamic);

/* Begins to ask about a call, whose number names it. RAPAHUB_ENOPOOL; RAPAHUB_ENOTLOCAL: the pool
 * has no container on this node; and others. After a failure no hook is called, and a body that is
 * outside stays the caller's. */
int cluster_dynamic_begin(struct cluster_dynamic *dynamic, const struct cluster_send_call *call);

/* Ends a choice with -ECANCELED. False: there is none for this call. */
bool cluster_dynamic_cancel(struct cluster_dynamic *dynamic, uint64_t number);

/* Does what is due. Returns when something will be, or HUB_NEVER. */
uint64_t cluster_dynamic_step(struct cluster_dynamic *dynamic, uint64_t now_ns);

/* No hook is called after this. Asks may still end: it may be released when there are none. */
void cluster_dynamic_close(struct cluster_dynamic *dynamic);

#endif

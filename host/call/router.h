/* SPDX-License-Identifier: Apache-2.0 */
/* router: the calls that the embedder's router carries out, and inquiries: <rapahub/route.h>. Each
 * is an asynchronous call with a record, host_routed. The owner gives it to the router in a turn,
 * and ends it in a turn: when it was answered or cancelled, at its deadline, or when the router
 * goes. Whichever comes first under the lock of asyncs ends it; all else is refused. */
#ifndef HOST_CALL_ROUTER_H
#define HOST_CALL_ROUTER_H

#include "host/call/asyncs.h"
#include "host/call/routed.h"

struct host_call;

void host_router_init(struct host_router *router);

/* Replaces the router; NULL: there is none. The calls of the one before end with RAPAHUB_ECLOSED,
 * and it is told of each; inquiries go on. -EINVAL: it is not complete; nothing has changed then.
 * Owner. */
int host_router_set(struct host_call *host, const struct rapahub_router *router);

/* Removes the router. Its calls and inquiries end with RAPAHUB_EDIED. Owner, at the end of the
 * host. */
void host_router_close(struct host_call *host);

/* Gives a call to the router, or to the inquiries of its container, or ends it with the reason why
 * not. The call is parked no more. Owner. */
void host_router_take(struct host_call *host, struct host_async *async);

/* Ends a call that the router has. RAPAHUB_ESTALE: it has none of this number; -EINVAL, -EMSGSIZE,
 * -ENOMEM: the call goes on. Any thread. */
int host_router_answer(struct host_call *host, uint64_t number,
                       const struct rapahub_raw_answer *answer);

/* Ends calls that were answered, or cancelled, or whose time is up. Returns how many. Owner. */
int host_router_serve(struct host_call *host);

/* Returns when the next call may be overdue; HUB_NEVER: none is there. Owner. */
uint64_t host_router_next_deadline(const struct host_call *host);

/* Visits the methods that the router knows of a container. Any thread: the owner asks it. */
int host_router_methods(struct host_call *host, struct rapahub_container_id target,
                        void (*visit)(void *user, const char *signature), void *user);

#endif

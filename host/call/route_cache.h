/* SPDX-License-Identifier: Apache-2.0 */
/* route_cache: the route of this thread's last call, valid until something in the host changes. Its
 * use acquires no lock of the routes, needs no look-up, and writes no count that other threads
 * write. While the thread is inside (caller.h), the life and the container stay, as they do for a
 * thread that is counted among their users. The owner, which alone changes routes and frees lives,
 * need not be inside until it takes a turn. */
#ifndef HOST_CALL_ROUTE_CACHE_H
#define HOST_CALL_ROUTE_CACHE_H

#include "host/call/caller.h"
#include "host/call/route.h"

struct host_call;

/* Keeps the route of a call for the next call of this thread, unless the thread is inside. Called
 * by the thread that uses the route. */
void host_route_cache_note(struct host_call *host, const struct host_route *route);

/* A use of the cached route by the thread whose it is. */
struct host_route_use {
    struct host_caller *caller;
    bool owner;
};

/* Begins to use the thread's route if it leads to the target: the thread is inside, unless it is
 * the owner, until host_route_cache_leave. Returns false if the route leads to another target or
 * has changed, or if the thread is inside. Any thread. */
bool host_route_cache_enter(struct host_call *host, struct rapahub_container_id target,
                            struct host_route_use *use);

/* Does the same for a thread that has found its caller already: use->caller, or NULL if it has
 * none. */
bool host_route_cache_enter_as(struct host_call *host, struct rapahub_container_id target,
                               struct host_route_use *use);

/* Does the same as the first, but returns false also while memory of a guest is shown to the
 * thread. */
bool host_route_cache_enter_at_rest(struct host_call *host, struct rapahub_container_id target,
                                    struct host_route_use *use);

void host_route_cache_leave(struct host_call *host, const struct host_route_use *use);

/* Call these before and after a wait in which the owner may take turns: it is inside meanwhile. */
void host_route_cache_wait(const struct host_route_use *use);
void host_route_cache_waited(struct host_call *host, const struct host_route_use *use);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* route_cache: the route of this thread's last call, valid until something in the host changes. Its
 * use acquires no lock of the routes, needs no look-up, and writes no count that other threads
 * write. While the thread is inside (caller.h), the life and the container stay, as they do for a
 * thread that is counted among their users. */
#ifndef HOST_CALL_ROUTE_CACHE_H
#define HOST_CALL_ROUTE_CACHE_H

#include "host/call/caller.h"
#include "host/call/route.h"

struct host_call;

/* Keeps the route of a call for the next call of this thread, unless the thread is inside. Called
 * by the thread that uses the route. */
void host_route_cache_note(struct host_call *host, const struct host_route *route);

/* Returns the thread's caller if its cached route leads to the target; NULL if the route leads to
 * another target or may have changed, or if the thread is inside. The thread does not enter. The
 * owner may use the route without entering until it takes a turn, since it alone changes routes and
 * frees lives; any other thread must call host_route_cache_go_in first. */
struct host_caller *host_route_cache_find(struct host_call *host,
                                          struct rapahub_container_id target);

/* Does the same, but returns NULL also while memory of a guest is shown to the thread. */
struct host_caller *host_route_cache_find_at_rest(struct host_call *host,
                                                  struct rapahub_container_id target);

/* Enters the route that one of these functions has found. Returns false if the route has changed
 * since: the thread is not inside then. Any thread. */
bool host_route_cache_go_in(struct host_call *host, struct host_caller *caller);

/* Finds and enters the route: the thread is inside until it calls host_route_cache_leave. NULL if
 * there is no such route; the thread is not inside then. Any thread. */
struct host_caller *host_route_cache_enter(struct host_call *host,
                                           struct rapahub_container_id target);

void host_route_cache_leave(struct host_call *host, struct host_caller *caller);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* route_cache: where this thread called last, as long as nothing has changed in the host since: no
 * lock of routes, no look-up, no count that other threads write. While the thread is inside
 * (scratch.h), the life and the container stay as for one that is counted among their users. */
#ifndef HOST_ROUTE_CACHE_H
#define HOST_ROUTE_CACHE_H

#include <rapahub/host.h>

#include "host/route.h"
#include "host/scratch.h"

/* Keeps where a call of this thread has gone, for the next one. The thread that uses the route. */
void host_route_cache_note(struct rapahub_host *host, const struct host_route *route);

/* The thread's scratch, where its life is that of the target; NULL where the target is another one
 * or may live elsewhere now, or the thread is inside already. The thread is not inside: only for
 * the owner, who alone changes what is where and frees it, all stays as it is until it takes a
 * turn. */
struct host_scratch *host_route_cache_find(struct rapahub_host *host,
                                           struct rapahub_container_id target);

/* The same; NULL also where memory of a guest is shown to the thread. */
struct host_scratch *host_route_cache_find_at_rest(struct rapahub_host *host,
                                                   struct rapahub_container_id target);

/* Enters what these have found: false where it has changed since, and the thread is not inside. Any
 * thread. */
bool host_route_cache_go_in(struct rapahub_host *host, struct host_scratch *scratch);

/* Both at once: it is inside until it leaves, or this is NULL. Any thread. */
struct host_scratch *host_route_cache_enter(struct rapahub_host *host,
                                            struct rapahub_container_id target);

void host_route_cache_leave(struct rapahub_host *host, struct host_scratch *scratch);

#endif

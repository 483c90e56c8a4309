/* SPDX-License-Identifier: Apache-2.0 */
/* route: the way from a container's id to the life that has it. Any thread. */
#ifndef HOST_CALL_ROUTE_H
#define HOST_CALL_ROUTE_H

#include <rapahub/host.h>

#include "host/call/caller.h"
#include "host/process/life.h"
#include "host/registry/containers.h"
#include "host/registry/methods.h"
#include "hub/wire/stream_ids.h"

struct host_call;

/* The route of a call. Its container and life are counted as used until host_route_drop. */
struct host_route {
    struct host_call *host;
    struct host_container *container;
    struct host_life *life; /* NULL: a service, or a guest that starts */
    struct host_methods *methods;
    uint64_t handle;  /* to be sent; 0: the guest has no other container */
    uint32_t changes; /* the host's count before the look-up */
    uint32_t version; /* the version of all routes at the look-up */
    bool uncalled;    /* with -EAGAIN: the guest starts only if a call asks for it */
    bool held;        /* with -EAGAIN: its guest is being replaced; counted as held there */
    char name[64];    /* the guest's name; "host" for a service */
};

/* Finds the route to a container. -EAGAIN: its guest is starting or being replaced; look again
 * after a change (container, methods and name are set). Any other failure: it cannot be called,
 * with the diagnosis. `out` must be dropped in every case. */
int host_route_find(struct host_call *host, struct rapahub_container_id target,
                    struct host_route *out);
void host_route_drop(struct host_route *route); /* harmless twice */

/* Removes a user of the container, and tells the owner if it waits for the last one. Any thread. */
void host_route_uncount(struct host_call *host, struct host_container *container);

/* Counts the call of this route as held, if it is. `counted` is the call's own: it is counted
 * once. */
void host_route_count(const struct host_route *route, bool *counted);

/* Returns when the call is over at the latest. */
uint64_t host_route_deadline(const struct host_call *host, const struct rapahub_call *call);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* route: the way from a container's id to the life that has it. Any thread. */
#ifndef HOST_CALL_ROUTE_H
#define HOST_CALL_ROUTE_H

#include <rapahub/host.h>
#include <rapahub/route.h>

#include "host/call/caller.h"
#include "host/process/life.h"
#include "host/registry/containers.h"
#include "host/registry/methods.h"
#include "hub/wire/stream_ids.h"

struct host_call;
struct host_chain;

/* The route of a call. Its container and life are counted as used until host_route_drop. */
struct host_route {
    struct host_call *host;
    struct host_container *container;
    struct host_life *life; /* NULL: a service, or a guest that starts */
    struct host_methods *methods;
    uint64_t handle;  /* to be sent; 0: the guest has certainly no other container */
    uint32_t changes; /* the host's count before the look-up */
    uint32_t version; /* the version of all routes at the look-up */
    bool uncalled;    /* with -EAGAIN: the guest starts only if a call asks for it */
    bool held;        /* with -EAGAIN: its calls are held; counted as held there */
    bool passes;      /* its calls are held, and this one passes: nothing else may use the route */
    char name[64];    /* the guest's name; "host" for a service */
};

/* Finds the route to a container. -EAGAIN: its guest is starting, or its calls are held; look again
 * after a change (container, methods and name are set). Any other failure: it cannot be called,
 * with the diagnosis. `out` must be dropped in every case. */
int host_route_find(struct host_call *host, struct rapahub_container_id target,
                    struct host_route *out);
void host_route_drop(struct host_route *route); /* harmless twice */

/* Does the same for a call. HOST_ROUTE_AWAY: the router of the host carries it out, since the
 * container is not in this host, or its calls go to the router; with `raw` such calls do not.
 * RAPAHUB_ENOTLOCAL: they do, and there is no router. RAPAHUB_EFENCED: the container is managed,
 * and the lease of the host is over. */
#define HOST_ROUTE_AWAY 1
int host_route_find_call(struct host_call *host, struct rapahub_container_id target, bool raw,
                         struct host_route *out);

/* Does the same for a call in a chain, which may pass a container whose calls are held. NULL: in
 * none. Owner, unless it is NULL. */
int host_route_find_in(struct host_call *host, struct rapahub_container_id target, bool raw,
                       const struct host_chain *chain, struct host_route *out);

/* Does the same for a call of this process, in the chain of the request that a service answers now.
 * HOST_ROUTE_AWAY also if it has a query, or is made to answer a call that has a uid, which is in
 * *uid then. -ENOTSUP: it has a query, and there is no router. */
int host_route_find_own(struct host_call *host, const struct rapahub_call *call,
                        struct host_route *out, struct rapahub_uid *uid);

/* Says whether a call may have a query: -ENOTSUP without a router. Any thread. */
int host_route_check_query(struct host_call *host);

/* Does the same for a request of a guest, which is `claim`, in its chain. Owner. */
struct host_chain_claim;
int host_route_find_claimed(struct host_call *host, struct rapahub_container_id target,
                            const struct host_chain_claim *claim, struct host_route *out,
                            struct rapahub_uid *uid);

/* Removes a user of the container, and tells the owner if it waits for the last one. Any thread. */
void host_route_uncount(struct host_call *host, struct host_container *container);

/* Counts the call of this route as held, if it is. `counted` is the call's own: it is counted
 * once. */
void host_route_count(const struct host_route *route, bool *counted);

/* Returns when the call is over at the latest. */
uint64_t host_route_deadline(const struct host_call *host, const struct rapahub_call *call);

#endif

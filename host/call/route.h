/* SPDX-License-Identifier: Apache-2.0 */
/* route: from a container's id to where it lives. Any thread. */
#ifndef HOST_CALL_ROUTE_H
#define HOST_CALL_ROUTE_H

#include <rapahub/host.h>

#include "host/call/caller.h"
#include "host/process/life.h"
#include "host/registry/containers.h"
#include "host/registry/methods.h"
#include "hub/wire/stream_ids.h"

struct host_call;

/* Where a call goes. What it holds is counted as used until host_route_drop. */
struct host_route {
    struct host_container *container;
    struct host_life *life; /* NULL: an offer, or a guest that starts */
    struct host_methods *methods;
    uint64_t handle;  /* to be sent; 0: the guest has no other container */
    uint32_t changes; /* of the host, before the look-up */
    uint32_t version; /* of all routes, at the look-up */
    bool uncalled;    /* with -EAGAIN: its guest starts only if somebody calls it */
    bool held;        /* with -EAGAIN: its guest is being replaced, and it counts as held there */
    char name[64];    /* of the guest; "host" of an offer */
};

/* 0; -EAGAIN: its guest starts just now, look again after a change (container, methods and name are
 * set); or why it cannot be called, with the diagnosis. `out` is to be dropped in every case. */
int host_route_find(struct host_call *host, struct rapahub_container_id target,
                    struct host_route *out);
void host_route_drop(struct host_route *route); /* harmless twice */

/* Counts the call of this route where it is held; once for each call, whose `counted` it is. */
void host_route_count(const struct host_route *route, bool *counted);

/* When the call is over at the latest. */
uint64_t host_route_deadline(const struct host_call *host, const struct rapahub_call *call);

#endif

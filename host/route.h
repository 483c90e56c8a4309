/* SPDX-License-Identifier: Apache-2.0 */
/* route: from a container's id to where it lives, and a call there. Any thread. */
#ifndef HOST_ROUTE_H
#define HOST_ROUTE_H

#include <rapahub/host.h>

#include "host/life.h"
#include "host/registry/containers.h"
#include "host/registry/methods.h"
#include "host/scratch.h"
#include "hub/wire/stream_ids.h"

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
int host_route_find(struct rapahub_host *host, struct rapahub_container_id target,
                    struct host_route *out);
void host_route_drop(struct host_route *route); /* harmless twice */

/* Counts the call of this route where it is held; once for each call, whose `counted` it is. */
void host_route_count(const struct host_route *route, bool *counted);

/* Waits until the host has changed since the look-up. The owner takes turns. -ETIMEDOUT. */
int host_route_wait(struct rapahub_host *host, const struct host_route *route,
                    uint64_t deadline_ns);

/* A call, resolved and encoded. `storage` is what it was resolved from. All of it is released by
 * host_route_unprepare. */
struct host_prepared {
    uint64_t method_id;
    const struct rapahub_type *result;
    struct rapahub_bytes arguments; /* in the buffer; of bytes apart what stands before them */
    struct hub_loan *loan;          /* NULL: none */
    struct rapahub_bytes apart;     /* in the loan, or where the caller has them; or none */
    size_t aligned;                 /* as of an exchange */
    bool view;                      /* asked for */
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    struct hub_signature *storage; /* or NULL */
    bool of_offer;                 /* the host itself serves the call */
    struct hub_stream_marks marks; /* none where it is of an offer */
    struct host_buffer buffer;
};

/* RAPAHUB_ENOMETHOD, RAPAHUB_EARGUMENTS, -EMSGSIZE, -EINVAL: nothing is sent then. `waits`: the
 * caller's arguments hold until the call has ended, so large bytes may stay where they are. */
int host_route_prepare(struct rapahub_host *host, const struct rapahub_call *call,
                       const struct host_route *route, bool waits, struct host_prepared *out);
void host_route_unprepare(struct host_prepared *prepared);

/* When the call is over at the latest. */
uint64_t host_route_deadline(const struct rapahub_host *host, const struct rapahub_call *call);

/* The whole of rapahub_host_call. */
int host_route_call(struct rapahub_host *host, const struct rapahub_call *call, void *result);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* send: the calls that this node sees to, from the moment in which they were made until their
 * caller is told. A call has members: the containers that its query means. Each member is looked
 * for, waits, runs and ends; with the last one, or the first that fails, the call ends, and at its
 * deadline at the latest.
 */
#ifndef CLUSTER_CORE_CALLS_SEND_H
#define CLUSTER_CORE_CALLS_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/limits.h"
#include "cluster/core/calls/open_calls.h"
#include "cluster/core/calls/order.h"
#include "cluster/core/calls/parking.h"
#include "cluster/core/calls/receive.h"
#include "cluster/core/calls/resolve.h"
#include "cluster/core/calls/retry.h"
#include "hub/base/states.h"

/* States of a member. */
enum cluster_send_state {
    CLUSTER_SEND_LOOKING, /* within a step */
    CLUSTER_SEND_PARKED,  /* its container is here, but does not serve */
    CLUSTER_SEND_WAITING, /* it is tried again later */
    CLUSTER_SEND_ORDERED, /* calls before it in its order come first */
    CLUSTER_SEND_RUNNING,
    CLUSTER_SEND_STATES
};

extern const struct hub_states cluster_send_states;

/* So long a call waits for one before it that has not come here. */
#define CLUSTER_SEND_ORDERED_NS (UINT64_C(200) * 1000000)

struct cluster_send;

/* The rooms that a call goes through, and what they share. All live longer. */
struct cluster_send_parts {
    struct cluster_resolve resolve;
    struct cluster_receive receive;
    struct cluster_parking *parking;
    struct cluster_retry *retry;
    struct cluster_order *order;
};

/* Makes space for calls within these limits. -ENOMEM. */
int cluster_send_create(const struct cluster_limits *limits, const struct cluster_send_parts *parts,
                        struct cluster_send **out);
void cluster_send_release(struct cluster_send **send);

/* Begins a call. A negative return refuses it: no effect tells of it, and its body stays the
 * caller's. */
int cluster_send_begin(struct cluster_send *send, const struct cluster_send_call *call,
                       uint64_t now_ns);

/* Ends a call that its caller does not want any more: -ECANCELED. A member that runs goes on,
 * unheard. False: there is no such call. */
bool cluster_send_cancel(struct cluster_send *send, uint64_t number, uint64_t now_ns);

/* A run has ended, see cluster_receive_end. */
void cluster_send_ended(struct cluster_send *send, uint64_t asker,
                        const struct cluster_dedup_answer *answer, uint64_t now_ns);

/* A container is down: calls that ran in it are sent again, as calls that may have run. */
void cluster_send_down(struct cluster_send *send, uint64_t pool, uint32_t container,
                       uint64_t now_ns);

/* Something has changed for a container: calls for it are looked for again. */
void cluster_send_changed(struct cluster_send *send, uint64_t pool, uint32_t container,
                          uint64_t now_ns);

/* Does what is due. */
void cluster_send_tick(struct cluster_send *send, uint64_t now_ns);

/* Returns when something is due, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_send_next(const struct cluster_send *send);

struct cluster_send_figures {
    uint32_t calls, members;
};
struct cluster_send_figures cluster_send_figures(const struct cluster_send *send);

#endif

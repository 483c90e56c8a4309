/* SPDX-License-Identifier: Apache-2.0 */
/* retry: calls whose attempt did not get through, until they are tried again or their time is over.
 * Calls of one origin to one container, in one order, are a flow: they are tried one after another,
 * after delays that double, and each delay is drawn below its bound. Each call leaves once: it is
 * done, or its deadline comes.
 */
#ifndef CLUSTER_CORE_CALLS_RETRY_H
#define CLUSTER_CORE_CALLS_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/limits.h"
#include "cluster/core/calls/order.h"
#include "hub/base/random.h"
#include "hub/base/states.h"

#define CLUSTER_RETRY_FIRST_NS (UINT64_C(10) * 1000000)
#define CLUSTER_RETRY_MOST_NS  (UINT64_C(2000) * 1000000)

/* States of a call here. */
enum cluster_retry_state {
    CLUSTER_RETRY_WAITING,
    CLUSTER_RETRY_TRIED, /* its attempt is under way */
    CLUSTER_RETRY_STATES
};

extern const struct hub_states cluster_retry_states;

struct cluster_retry;

struct cluster_retry_call {
    struct cluster_order_key flow; /* order 0: calls without one */
    uint64_t number;               /* the caller's */
    uint64_t bytes;                /* that it keeps meanwhile */
    uint64_t deadline_ns;
    uint32_t tries; /* attempts that failed while it was not here */
};

struct cluster_retry_due {
    uint64_t id, number;
    bool over; /* its deadline has come, and it has left; else it is to be tried */
};

/* Makes space for calls within these limits. `random` is used by all functions. -ENOMEM. */
int cluster_retry_create(const struct cluster_limits *limits, struct hub_random *random,
                         struct cluster_retry **out);
void cluster_retry_release(struct cluster_retry **retry);

/* Adds a call as the last of its flow. A flow that it begins is tried after a first delay, below a
 * bound that the tries of before have doubled. -EBUSY,
 * with the limit in the text. */
int cluster_retry_add(struct cluster_retry *retry, const struct cluster_retry_call *call,
                      uint64_t now_ns, uint64_t *out);

/* Takes what is to be done next by `now_ns`. False: there is nothing. */
bool cluster_retry_take(struct cluster_retry *retry, uint64_t now_ns,
                        struct cluster_retry_due *out);

/* The attempt of a call has failed: it waits again, longer than before. False, and nothing is done,
 * if it has left. */
bool cluster_retry_again(struct cluster_retry *retry, uint64_t id, uint64_t now_ns);

/* A call leaves: it got through, or its caller does not want it any more. The next of its flow is
 * tried at once. False, and nothing is done, if it has left. */
bool cluster_retry_done(struct cluster_retry *retry, uint64_t id, uint64_t now_ns);

/* Something has changed for a container: its flows are tried at once. */
void cluster_retry_hurry(struct cluster_retry *retry, uint64_t pool, uint32_t container,
                         uint64_t now_ns);

/* Something has changed for many: all flows are tried at once. */
void cluster_retry_hurry_all(struct cluster_retry *retry, uint64_t now_ns);

/* Returns when there is something to be done, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_retry_next(const struct cluster_retry *retry);

struct cluster_retry_figures {
    uint32_t calls, flows;
    uint64_t bytes;
};
struct cluster_retry_figures cluster_retry_figures(const struct cluster_retry *retry);

#endif

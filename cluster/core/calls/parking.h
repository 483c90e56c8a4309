/* SPDX-License-Identifier: Apache-2.0 */
/* parking: calls that wait at a container which does not take them now: it is being begun, or held.
 * They leave in the order in which they came. Each is its parker's by a number.
 */
#ifndef CLUSTER_CORE_CALLS_PARKING_H
#define CLUSTER_CORE_CALLS_PARKING_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/limits.h"

struct cluster_parking;

struct cluster_parking_call {
    uint64_t pool;
    uint32_t container;
    uint64_t number; /* the parker's */
    uint64_t bytes;  /* that it keeps meanwhile */
};

/* Makes space for calls within these limits. -ENOMEM. */
int cluster_parking_create(const struct cluster_limits *limits, uint64_t secret,
                           struct cluster_parking **out);
void cluster_parking_release(struct cluster_parking **parking);

/* Parks a call as the last at its container; `out` gets its id. -EBUSY, with the limit in the text.
 */
int cluster_parking_park(struct cluster_parking *parking, const struct cluster_parking_call *call,
                         uint64_t *out);

/* Takes the call that has waited longest at a container. False: none waits. */
bool cluster_parking_take(struct cluster_parking *parking, uint64_t pool, uint32_t container,
                          uint64_t *number);

/* Removes a call whose wait is over. False, and nothing is done, if it does not wait any more. */
bool cluster_parking_remove(struct cluster_parking *parking, uint64_t id);

struct cluster_parking_figures {
    uint32_t calls;
    uint64_t bytes;
};

/* Returns the figures of a container, or of all where `pool` is 0. */
struct cluster_parking_figures cluster_parking_figures(const struct cluster_parking *parking,
                                                       uint64_t pool, uint32_t container);

#endif

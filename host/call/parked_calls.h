/* SPDX-License-Identifier: Apache-2.0 */
/* parked_calls: asynchronous calls that wait for a turn of the owner, in their order. Where their
 * guest has no space they are also found by their target, at a cost that does not grow with how
 * many wait: guests choose how many requests wait. Not thread-safe. */
#ifndef HOST_CALL_PARKED_CALLS_H
#define HOST_CALL_PARKED_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/list.h"

#define HOST_PARKED_BUCKETS 256 /* a power of two */

struct host_async;

struct host_parked_calls {
    struct hub_list all;
    struct hub_list full[HOST_PARKED_BUCKETS]; /* by target, and by whether a guest asked */
};

void host_parked_calls_init(struct host_parked_calls *calls);

/* Adds a call as the last one. Its member `full` says whether its guest has no space. */
void host_parked_calls_append(struct host_parked_calls *calls, struct host_async *async);

/* Removes and returns the first call. NULL: none is parked. */
struct host_async *host_parked_calls_pop(struct host_parked_calls *calls);

/* Moves all calls to `round`, an empty list, in their order, linked by their member `parked`. */
void host_parked_calls_take_all(struct host_parked_calls *calls, struct hub_list *round);

/* Returns whether a call waits for space in the same container, and was made by the same side as
 * this one: by guests, or by the host. */
bool host_parked_calls_queue(const struct host_parked_calls *calls, const struct host_async *async);

/* Returns the earliest deadline, HUB_NEVER if none is parked, and whether one waits for space. */
uint64_t host_parked_calls_deadline(const struct host_parked_calls *calls, bool *out_full);

#endif

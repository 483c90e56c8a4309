/* SPDX-License-Identifier: Apache-2.0 */
/* order: calls of one origin to one container that have the same order number are admitted as they
 * were submitted. Their numbers rise, so a call waits until all open ones with lower numbers were
 * admitted. A call that was lost with its container's life is admitted again before those after it.
 */
#ifndef CLUSTER_CORE_CALLS_ORDER_H
#define CLUSTER_CORE_CALLS_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_order;

struct cluster_order_key {
    uint64_t pool, origin;
    uint32_t container;
    uint32_t order; /* not 0 */
};

struct cluster_order_call {
    struct cluster_order_key key;
    uint64_t number;  /* in its uid; a call that was sent twice has two rows with it */
    uint64_t subject; /* the caller's */
};

/* Makes a table of at most `max` calls. -ENOMEM. */
int cluster_order_create(uint32_t max, uint64_t secret, struct cluster_order **out);
void cluster_order_release(struct cluster_order **order);

/* Adds a call, which was not admitted yet, and returns its id; 0: there are too many. */
uint64_t cluster_order_add(struct cluster_order *order, const struct cluster_order_call *call);

/* Says whether a call with this number is open in an order. */
bool cluster_order_has(const struct cluster_order *order, const struct cluster_order_key *key,
                       uint64_t number);

/* Returns the number of the call before this one in its order that is open, or 0. */
uint64_t cluster_order_previous(const struct cluster_order *order, uint64_t id);

/* Says whether a call may be admitted now. The ids here and below are of calls that are open. */
bool cluster_order_may(const struct cluster_order *order, uint64_t id);

/* A call waits. It is taken when something has changed in its order, and it may be admitted. One
 * that `misses` the call before it is not taken before another one of its order was admitted: else
 * two of them would be taken in turn without end. */
void cluster_order_wait(struct cluster_order *order, uint64_t id, bool misses);

/* A call was admitted; or was, and is not any more. */
void cluster_order_admit(struct cluster_order *order, uint64_t id);
void cluster_order_lose(struct cluster_order *order, uint64_t id);

/* A call has ended. Its id is forgotten. */
void cluster_order_end(struct cluster_order *order, uint64_t id);

/* Takes the next call whose wait is over. False: there is none. */
bool cluster_order_take(struct cluster_order *order, uint64_t *subject);

uint32_t cluster_order_count(const struct cluster_order *order);

#endif

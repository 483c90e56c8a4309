/* SPDX-License-Identifier: Apache-2.0 */
/* order: calls of one origin to one container that have an order are admitted as they were
 * submitted. Each names the call before it, which must have been admitted, or have ended. A table
 * serves an origin, for the calls that it submits, another one the node that admits them.
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

/* Makes a table of at most `max` orders. -ENOMEM. */
int cluster_order_create(uint32_t max, uint64_t secret, struct cluster_order **out);
void cluster_order_release(struct cluster_order **order);

/* Notes a call as the last of its order, and returns in `previous` the number of the one before, or
 * 0. Numbers of an order rise: one that does not is refused, RAPAHUB_ESTALE. -EBUSY: too many
 * orders are open. */
int cluster_order_submit(struct cluster_order *order, const struct cluster_order_key *key,
                         uint64_t number, uint64_t *previous);

/* A call has ended. If it is the last of its order, the order is forgotten. */
void cluster_order_end(struct cluster_order *order, const struct cluster_order_key *key,
                       uint64_t number);

/* Says whether a call may be admitted now: `previous` is the one before it, all numbers of its
 * origin below `done_below` have ended. */
bool cluster_order_may(const struct cluster_order *order, const struct cluster_order_key *key,
                       uint64_t previous, uint64_t done_below);

/* Forgets all orders of a container, or those of an origin to it, if `origin` is not 0. */
void cluster_order_forget(struct cluster_order *order, uint64_t pool, uint32_t container,
                          uint64_t origin);

uint32_t cluster_order_count(const struct cluster_order *order);

#endif

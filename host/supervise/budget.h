/* SPDX-License-Identifier: Apache-2.0 */
/* budget: counts failures within a sliding period. Pure: the time is an argument. */
#ifndef HOST_SUPERVISE_BUDGET_H
#define HOST_SUPERVISE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_BUDGET_MAX 256 /* limit of restarts within a period */

/* The times of the last `max` failures; in a full ring the oldest is at `next`. With period 0
 * failures are only counted, and their number is not limited by the ring. */
struct host_budget {
    uint64_t period_ns; /* 0: for the lifetime of the child */
    uint32_t max, count, next;
    uint64_t times[HOST_BUDGET_MAX];
};

/* -EINVAL if `max` is above HOST_BUDGET_MAX while there is a period. r[impl supervise.window] */
int host_budget_init(struct host_budget *budget, uint32_t max, uint64_t period_ns);

/* Counts a failure at `now_ns`, which is not before the previous one. False if the budget is
 * exceeded, because `max` earlier failures lie in (now - period, now]. So `max` restarts are
 * allowed, and the next is not. */
bool host_budget_spend(struct host_budget *budget, uint64_t now_ns);

/* Returns how many of the last `max` failures lie in the period that ends now. */
uint32_t host_budget_used(const struct host_budget *budget, uint64_t now_ns);

/* Forgets all failures. */
void host_budget_reset(struct host_budget *budget);

#endif

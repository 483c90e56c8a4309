/* SPDX-License-Identifier: Apache-2.0 */
/* budget: failures within a sliding period. Pure: the time is given. */
#ifndef HOST_SUPERVISE_BUDGET_H
#define HOST_SUPERVISE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_BUDGET_MAX 256 /* the most restarts within a period that can be asked for */

/* The times of the last `max` failures, oldest first from `next` on once it is full. For life they
 * are only counted, and may be more. */
struct host_budget {
    uint64_t period_ns; /* 0: for life */
    uint32_t max, count, next;
    uint64_t times[HOST_BUDGET_MAX];
};

/* -EINVAL where `max` is above HOST_BUDGET_MAX, and not for life. r[impl supervise.window] */
int host_budget_init(struct host_budget *budget, uint32_t max, uint64_t period_ns);

/* Counts a failure at `now_ns`, not before the last one. False: it is over budget, because `max`
 * earlier ones lie in (now - period, now]. So `max` restarts pass and the next is over. */
bool host_budget_spend(struct host_budget *budget, uint64_t now_ns);

/* How many of the last `max` failures lie in the period that ends now. */
uint32_t host_budget_used(const struct host_budget *budget, uint64_t now_ns);

/* Forgets all failures. */
void host_budget_reset(struct host_budget *budget);

#endif

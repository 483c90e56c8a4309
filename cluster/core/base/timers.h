/* SPDX-License-Identifier: Apache-2.0 */
/* timers: moments at which something is to be looked at again, earliest first; of equal ones the
 * one that was set first. The time is an argument.
 */
#ifndef CLUSTER_CORE_BASE_TIMERS_H
#define CLUSTER_CORE_BASE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_TIMERS_NEVER UINT64_MAX

struct cluster_timers;

struct cluster_timer {
    uint64_t at_ns;
    uint64_t number; /* the setter's */
    uint32_t kind;   /* the setter's */
};

/* Makes at most `max` timers, at most 2^31. -ENOMEM. */
int cluster_timers_create(uint32_t max, struct cluster_timers **out);
void cluster_timers_release(struct cluster_timers **timers);

/* Sets a timer and returns its id; 0: there are too many. */
uint64_t cluster_timers_set(struct cluster_timers *timers, const struct cluster_timer *timer);

/* Clears a timer. False, and nothing is done, if it has come or was cleared, or the id is 0. */
bool cluster_timers_clear(struct cluster_timers *timers, uint64_t id);

/* Takes the next timer that is not after `now_ns`. False: there is none. */
bool cluster_timers_take(struct cluster_timers *timers, uint64_t now_ns, struct cluster_timer *out);

/* Returns the time of the next timer, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_timers_next(const struct cluster_timers *timers);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* sleep: how a side of a ring sleeps until the other one has done something, and is woken.
 *
 * Sleeper: hub_sleep_arm, look at the condition again, hub_sleep_for. Waker: publish, then
 * hub_sleep_wake. The sequence is read before the flag is set: in the other order a wake between
 * both is lost. A flag, not a count: a sleeper that dies costs one wake too many, and nothing has
 * to be put right. No wake is ever needed for correctness: a sleep ends by itself. r[impl
 * region.wake] */
#ifndef HUB_BUS_SLEEP_H
#define HUB_BUS_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"

struct hub_sleep {
    struct hub_a32 *seq, *flag;
    bool futex;      /* the region has wakes; else a sleeper looks again and again */
    bool light;      /* its participants have joined membarrier: a waker does not fence */
    uint64_t gap_ns; /* between two looks where there are no wakes; 0: 100 us */
};

/* Returns the sequence to sleep on. */
uint32_t hub_sleep_arm(const struct hub_sleep *sleep);

/* Sleeps until a wake since then, until `deadline_ns`, or for 100 ms at most. */
void hub_sleep_for(const struct hub_sleep *sleep, uint32_t sequence, uint64_t deadline_ns);

/* Wakes all sleepers, whether there are any or not. */
void hub_sleep_wake_all(const struct hub_sleep *sleep);

static inline void hub_sleep_wake(const struct hub_sleep *sleep)
{
    if (!sleep->futex)
        return;
    if (sleep->light)
        hub_fence_light(sleep->flag);
    else
        hub_fence(sleep->flag);
    if (hub_load_relaxed(sleep->flag) && hub_exchange(sleep->flag, 0))
        hub_sleep_wake_all(sleep);
}

#endif

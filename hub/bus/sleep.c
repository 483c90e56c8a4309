/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/sleep.h"

#include "hub/base/barrier.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"

#define ANY_BITS UINT32_MAX
#define LONGEST  (100 * HUB_MILLISECOND)
#define LOOKING  (100 * HUB_MICROSECOND) /* between two looks where there are no wakes */

uint32_t hub_sleep_arm(const struct hub_sleep *sleep)
{
    uint32_t sequence = hub_observe(sleep->seq);

    if (!sleep->futex)
        return sequence;
    hub_publish(sleep->flag, 1);
    if (sleep->light)
        hub_barrier_heavy(sleep->flag);
    else
        hub_fence(sleep->flag);
    return sequence;
}

void hub_sleep_for(const struct hub_sleep *sleep, uint32_t sequence, uint64_t deadline_ns)
{
    uint64_t gap = sleep->gap_ns ? sleep->gap_ns : LOOKING;
    uint64_t most = hub_clock_after(sleep->futex ? LONGEST : gap);
    uint64_t until = deadline_ns < most ? deadline_ns : most;

    if (sleep->futex)
        (void)hub_futex_wait(sleep->seq, sequence, ANY_BITS, until);
    else
        hub_clock_pause(hub_clock_left(until)); /* no event: the other side has no wakes */
}

void hub_sleep_wake_all(const struct hub_sleep *sleep)
{
    (void)hub_add(sleep->seq, 1);
    hub_futex_wake(sleep->seq, ANY_BITS);
}

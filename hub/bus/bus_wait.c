/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/bus_wait.h"

#include <sched.h>

#include "hub/base/clock.h"

#define SPIN      (20 * HUB_MICROSECOND)
#define PROBE     (2 * HUB_MICROSECOND) /* where looking did not help the last time */
#define ROUNDS    32                    /* looks between two of the clock */
#define GAP_FIRST (50 * HUB_MICROSECOND)
#define GAP_MOST  (10 * HUB_MILLISECOND)

/* Where both sides share a CPU, the other one goes on only if this one lets it. */
static bool spin(const struct hub_bus_wait *wait)
{
    uint64_t deadline = hub_clock_after(*wait->spins ? SPIN : PROBE);

    do {
        for (int i = 0; i < ROUNDS; i++) {
            if (wait->ready(wait->user))
                return true;
            hub_pause();
        }
    } while (hub_clock_left(deadline) > 0);
    sched_yield();
    return wait->ready(wait->user);
}

static int look(const struct hub_bus_wait *wait, uint64_t deadline_ns)
{
    int r = hub_region_current(wait->region);

    if (r == 0)
        r = wait->look(wait->user);
    if (wait->ready(wait->user))
        return 1;
    if (r == 0 && hub_clock_left(deadline_ns) == 0)
        r = RAPAHUB_ETIMEDOUT;
    return r;
}

int hub_bus_wait_until(const struct hub_bus_wait *wait, uint64_t deadline_ns)
{
    uint64_t gap = GAP_FIRST;
    bool helped = spin(wait);

    *wait->spins = helped;
    for (int r = helped; r == 0; gap = gap < GAP_MOST / 2 ? 2 * gap : GAP_MOST) {
        uint32_t sequence = hub_sleep_arm(wait->sleep);
        uint64_t next = hub_clock_after(gap);

        r = wait->ready(wait->user) ? 1 : look(wait, deadline_ns);
        if (r < 0)
            return r;
        if (r == 0)
            hub_sleep_for(wait->sleep, sequence, next < deadline_ns ? next : deadline_ns);
    }
    return 0;
}

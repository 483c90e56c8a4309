/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/lease.h"

#include "hub/base/clock.h"

#define NO_END   0
#define EARLIEST 1 /* the word of a lease that ended at 0 */

uint64_t hub_lease_word(uint64_t until_ns)
{
    if (until_ns == HUB_NEVER)
        return NO_END;
    return until_ns == 0 ? EARLIEST : until_ns;
}

/* r[impl hub.lease.clock] */
bool hub_lease_is_over(const struct hub_a64 *lease)
{
    uint64_t word = hub_observe64(lease);

    return word != NO_END && hub_clock_boot() > word;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* flood: a doorbell that rings far more often than the messages explain is ignored for a while, and
 * the ring is polled by a timer meanwhile. This is no violation, because the bytes of a doorbell
 * mean nothing, but a guest that keeps ringing must not use up the host's time.
 *
 * Any thread of this side, without a lock: counts may be lost, so a flood may be noticed a little
 * later.
 */
#ifndef HUB_SHM_FLOOD_H
#define HUB_SHM_FLOOD_H

#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"

/* interval at which the ring is polled while the doorbell is ignored */
#define HUB_FLOOD_LOOK HUB_MILLISECOND

struct hub_flood {                           /* zeroed: no flood yet */
    struct hub_a64 since_ns, wakes, traffic; /* for the current window */
    struct hub_a64 deaf_until_ns, span_ns;
    struct hub_a64 count; /* number of floods */
};

/* Records a wake-up by the doorbell. `traffic` is the number of messages in both directions so far.
 * r[impl hub.wait.flood] */
void hub_flood_note(struct hub_flood *flood, uint64_t now, uint64_t traffic);

/* Returns the time until which the doorbell is ignored; a time in the past if it is not. */
uint64_t hub_flood_until(const struct hub_flood *flood);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* flood: a doorbell that rings far more often than the messages explain is not listened to for a
 * while; the ring is looked at by timer meanwhile. No violation, for the bytes of a doorbell mean
 * nothing, but a guest that rings on must not have the host's time.
 *
 * Any thread of the side, without a lock: counts may be lost, so a flood may be seen a little
 * later.
 */
#ifndef HUB_SHM_FLOOD_H
#define HUB_SHM_FLOOD_H

#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"

#define HUB_FLOOD_LOOK HUB_MILLISECOND /* how soon the ring is looked at while nobody listens */

struct hub_flood {                           /* zeroed: none yet */
    struct hub_a64 since_ns, wakes, traffic; /* of the window now */
    struct hub_a64 deaf_until_ns, span_ns;
    struct hub_a64 count; /* how many floods there were */
};

/* The doorbell woke somebody; `traffic` is how many messages went either way so far.
 * r[impl hub.wait.flood] */
void hub_flood_note(struct hub_flood *flood, uint64_t now, uint64_t traffic);

/* Till when nobody listens to the doorbell: a time gone by where it is listened to. */
uint64_t hub_flood_until(const struct hub_flood *flood);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim: all a dead guest held in the segment, given back in the specification's order. Only
 * after proof of death, only by the host's owner thread. */
#ifndef HUB_SHM_RECLAIM_H
#define HUB_SHM_RECLAIM_H

#include "hub/shm/segment.h"
#include "hub/shm/slots.h"

/* Host slots lent to `peer` come back, indices become 0, the guest's pool is whole again, its
 * channels are Free, its words 0. May be repeated from the start where a host's thread stopped in
 * between. r[impl shm.crash.recovery] */
void hub_reclaim_reset(const struct hub_segment *segment, struct hub_slots *host_slots,
                       uint32_t peer);

/* Last, after what the host holds of the guest was given back: the entry is Empty.
 * r[impl shm.crash.recovery] */
void hub_reclaim_empty(const struct hub_segment *segment, uint32_t peer);

#endif

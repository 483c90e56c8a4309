/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim: returns everything that a dead guest held in the segment, in the order of the
 * specification. Only after proof of death, only on the host's owner thread. */
#ifndef HUB_SHM_RECLAIM_H
#define HUB_SHM_RECLAIM_H

#include "hub/shm/segment.h"
#include "hub/shm/slots.h"

/* Returns host slots lent to `peer`, sets indices and words to 0, makes the guest's pool whole and
 * its channels Free. If a host's thread stopped in between, it may be repeated from the start.
 * r[impl shm.crash.recovery] */
void hub_reclaim_reset(const struct hub_segment *segment, struct hub_slots *host_slots,
                       uint32_t peer);

/* Makes the entry Empty. Comes last, after the host has released everything that it held of the
 * guest. r[impl shm.crash.recovery] */
void hub_reclaim_empty(const struct hub_segment *segment, uint32_t peer);

#endif

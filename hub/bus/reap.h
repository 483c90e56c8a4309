/* SPDX-License-Identifier: Apache-2.0 */
/* reap: takes back what a process held that is proven dead. Each step may be repeated, so a reaper
 * that dies is followed by the next one. A process that is alive, or stopped, loses nothing.
 * r[impl region.poison] r[impl region.poison.live] */
#ifndef HUB_BUS_REAP_H
#define HUB_BUS_REAP_H

#include "hub/bus/region_lease.h"

/* Under TABLE: takes back every lease whose holder is dead. A position that a living producer may
 * claim at this moment is left for the next time. Returns how many leases became free. */
uint32_t hub_reap_dead(struct rapahub_region *region);

/* The same if TABLE can be had at once; else another process is doing it, or is stopped. */
uint32_t hub_reap_try(struct rapahub_region *region);

/* SEQUENCER: looks at all stages, and takes back what dead ones held if TABLE can be had at once;
 * evicts those whose freeze is over. */
void hub_reap_stages(struct rapahub_region *region);

#endif

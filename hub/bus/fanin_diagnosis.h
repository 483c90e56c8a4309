/* SPDX-License-Identifier: Apache-2.0 */
/* fanin_diagnosis: what is to be seen of the rings of a region of kind FANIN. Takes no lock and
 * writes nothing. */
#ifndef HUB_BUS_FANIN_DIAGNOSIS_H
#define HUB_BUS_FANIN_DIAGNOSIS_H

#include "hub/bus/region.h"

/* Says what there is of the ring of a producer. Positions are exact for up to `scan_max` cells.
 * RAPAHUB_ECORRUPT. */
int hub_fanin_diagnosis_ring(const struct rapahub_region *region, uint32_t index, uint32_t scan_max,
                             struct rapahub_region_queue *out);

/* Adds the sums of all rings to a report, and the first one that is full. RAPAHUB_ECORRUPT. */
int hub_fanin_diagnosis_report(const struct rapahub_region *region, uint32_t scan_max,
                               struct rapahub_region_report *out);

/* Writes what to do about a ring that is full; false: nothing. */
bool hub_fanin_diagnosis_action(struct rapahub_region_report *report);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* fanout_diagnosis: what is to be seen of the router of a region and of its consumers' queues.
 * Takes no lock and writes nothing. */
#ifndef HUB_BUS_FANOUT_DIAGNOSIS_H
#define HUB_BUS_FANOUT_DIAGNOSIS_H

#include "hub/bus/region.h"

/* Says what there is of a queue. Positions are exact for up to `scan_max` cells. RAPAHUB_ECORRUPT.
 */
int hub_fanout_diagnosis_queue(const struct rapahub_region *region, uint32_t index,
                               uint32_t scan_max, struct rapahub_region_queue *out);

/* Adds the router and the sums to a report. RAPAHUB_ECORRUPT. */
int hub_fanout_diagnosis_report(const struct rapahub_region *region, uint32_t scan_max,
                                struct rapahub_region_report *out);

/* Writes what to do about the router, or about a consumer whose queue is full; false: nothing. */
bool hub_fanout_diagnosis_action(struct rapahub_region_report *report, const char *name);

#endif

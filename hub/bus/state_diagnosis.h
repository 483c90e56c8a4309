/* SPDX-License-Identifier: Apache-2.0 */
/* state_diagnosis: what is to be seen of a state. Takes no lock and writes nothing. */
#ifndef HUB_BUS_STATE_DIAGNOSIS_H
#define HUB_BUS_STATE_DIAGNOSIS_H

#include "hub/bus/region.h"

/* Adds to a report, which says already whether there is a writer: version, size, and whether no
 * whole value can be read. RAPAHUB_ECORRUPT. */
int hub_state_diagnosis_report(const struct rapahub_region *region,
                               struct rapahub_region_report *out);

/* Writes what to do about a state that cannot be read; false: nothing. */
bool hub_state_diagnosis_action(struct rapahub_region_report *report);

#endif

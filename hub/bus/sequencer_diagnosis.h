/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_diagnosis: what is wrong with a region of kind SEQUENCER. */
#ifndef HUB_BUS_SEQUENCER_DIAGNOSIS_H
#define HUB_BUS_SEQUENCER_DIAGNOSIS_H

#include <rapahub/sequencer.h>

#include "hub/bus/region.h"

/* Adds what only this kind has; `out` has the rest. RAPAHUB_ECORRUPT: a stage is at a position that
 * is not claimed. */
int hub_sequencer_diagnosis_report(const struct rapahub_region *region,
                                   struct rapahub_region_report *out);

/* Writes what to do about a stage that is in the way. False: nothing is wrong. */
bool hub_sequencer_diagnosis_action(struct rapahub_region_report *report, const char *name);

/* Tells of one stage of a region that has it. */
void hub_sequencer_diagnosis_stage(const struct rapahub_region *region, uint32_t index,
                                   struct rapahub_region_stage_report *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* lead_effects: tells the core of a node what has happened, carries out what it wants, and takes
 * its reports to the node that leads. */
#ifndef TESTS_SIMULATION_CLUSTER_LEAD_EFFECTS_H
#define TESTS_SIMULATION_CLUSTER_LEAD_EFFECTS_H

#include "cluster/core/core.h"

int lead_effects_tell(uint32_t n, struct cluster_event event);

/* Lets the reports come that are due; tells one that is not so. */
void lead_effects_deliver(void);
void lead_effects_forge(uint32_t n);

/* Returns when the next report comes, or UINT64_MAX. */
uint64_t lead_effects_next(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ops_effects: tells the core of a node what has happened, and carries out what it wants. */
#ifndef TESTS_SIMULATION_CLUSTER_OPS_EFFECTS_H
#define TESTS_SIMULATION_CLUSTER_OPS_EFFECTS_H

#include <stdbool.h>

#include "cluster/core/core.h"

/* A fault happens once in so many times, until all is healed. */
bool ops_effects_fails(uint32_t once_in);

int ops_effects_tell(struct cluster_event event);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* local_health: how far this node doubts itself. A node that misses answers which others get waits
 * longer before it says anything of others.
 */
#ifndef CLUSTER_CORE_SWIM_LOCAL_HEALTH_H
#define CLUSTER_CORE_SWIM_LOCAL_HEALTH_H

#include <stdint.h>

#define CLUSTER_LOCAL_HEALTH_MAX 8

/* Returns the health after a probe that was answered, and after something that speaks against this
 * node: 0 is the best one. */
uint8_t cluster_local_health_better(uint8_t health);
uint8_t cluster_local_health_worse(uint8_t health);

/* Returns a span of a node with this health. */
uint64_t cluster_local_health_span(uint8_t health, uint64_t span_ns);

#endif

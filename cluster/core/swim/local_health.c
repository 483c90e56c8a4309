/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/local_health.h"

/* r[impl cluster.swim.health] */
uint8_t cluster_local_health_better(uint8_t health)
{
    return health > 0 ? health - 1 : 0;
}

uint8_t cluster_local_health_worse(uint8_t health)
{
    return health < CLUSTER_LOCAL_HEALTH_MAX ? health + 1 : health;
}

uint64_t cluster_local_health_span(uint8_t health, uint64_t span_ns)
{
    return span_ns * (1 + (uint64_t)health);
}

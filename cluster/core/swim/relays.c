/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/relays.h"

#include <stddef.h>

struct cluster_relay *cluster_relays_take(struct cluster_relays *relays, uint32_t sequence)
{
    for (uint32_t i = 0; i < CLUSTER_RELAYS_MAX; i++)
        if (relays->all[i].sequence == 0) {
            relays->all[i] = (struct cluster_relay){.sequence = sequence};
            return &relays->all[i];
        }
    return NULL;
}

struct cluster_relay *cluster_relays_find(struct cluster_relays *relays, uint32_t sequence,
                                          uint32_t target)
{
    for (uint32_t i = 0; sequence != 0 && i < CLUSTER_RELAYS_MAX; i++)
        if (relays->all[i].sequence == sequence && relays->all[i].target == target)
            return &relays->all[i];
    return NULL;
}

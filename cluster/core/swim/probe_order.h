/* SPDX-License-Identifier: Apache-2.0 */
/* probe_order: all places of a table, each once in a pass, in another order in each pass. */
#ifndef CLUSTER_CORE_SWIM_PROBE_ORDER_H
#define CLUSTER_CORE_SWIM_PROBE_ORDER_H

#include <stdint.h>

#include "hub/base/random.h"

struct cluster_probe_order {
    uint32_t places, step, begin; /* in this pass place number i is (step * i + begin) % places */
    uint32_t next;                /* i */
};

/* Returns the next place, from 1 to `places`, above 0: their number now, which counts from the next
 * pass on. */
uint32_t cluster_probe_order_next(struct cluster_probe_order *order, struct hub_random *random,
                                  uint32_t places);

#endif

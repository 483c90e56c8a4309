/* SPDX-License-Identifier: Apache-2.0 */
/* unheard: the origins that came with a copy of a container's state, and of which nothing was heard
 * since. A client sends its open calls again within ten minutes, and a chain of calls its own when
 * the call at its root does. An origin that is silent for longer has ended while the node was dead.
 * Beside them: origins whose calls come by another node, which knows when they end. A call is not
 * sent again after its deadline.
 */
#ifndef CLUSTER_CORE_CALLS_UNHEARD_H
#define CLUSTER_CORE_CALLS_UNHEARD_H

#include <stdint.h>

#include "cluster/core/calls/dedup.h"

#define CLUSTER_UNHEARD_CLIENT_NS UINT64_C(1200000000000)  /* 20 min, twice what a client takes */
#define CLUSTER_UNHEARD_OTHER_NS  UINT64_C(86400000000000) /* a day: methods may run long */

/* The calls of a container were restored now. */
void cluster_unheard_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                           uint64_t now_ns);

/* Origins of other nodes are looked at no more often than this. */
#define CLUSTER_UNHEARD_LOOK_NS UINT64_C(60000000000)

/* Forgets those whose time is over. */
void cluster_unheard_tick(struct cluster_dedup *dedup, uint64_t now_ns);

/* Returns when some are looked for, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_unheard_next(struct cluster_dedup *dedup);

#endif

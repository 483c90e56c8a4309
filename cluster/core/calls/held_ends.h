/* SPDX-License-Identifier: Apache-2.0 */
/* held_ends: the ends of calls that are given out when a copy of their container's state covers
 * them.
 */
#ifndef CLUSTER_CORE_CALLS_HELD_ENDS_H
#define CLUSTER_CORE_CALLS_HELD_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/calls/dedup.h"

/* From now on the end of a call in this container, which has begun, is held until a copy of its
 * state covers it; but for a call to which a chain leads that still runs in the same container:
 * that would wait for its own end. Each `dedup_begin` ends that. */
void cluster_held_ends_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container);

/* A copy of a container covers all ends up to this one. */
void cluster_held_ends_cover(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                             uint64_t covered);

/* Takes the next end of a container that was held and is covered: who is to be told, and the
 * answer, whose payload has one user more. False: there is none. */
bool cluster_held_ends_take(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                            uint64_t *asker, struct cluster_dedup_answer *answer);

/* Says whether a call of a chain runs in a container. */
bool cluster_held_ends_chain_runs(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                                  uint64_t chain);

#endif

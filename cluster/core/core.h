/* SPDX-License-Identifier: Apache-2.0 */
/* core: what a node decides. It gets events with the time, and returns effects. It has no clock, no
 * I/O and no thread, and takes no memory after it was made; so equal events, from an equal seed,
 * have equal effects. It is used by one thread.
 */
#ifndef CLUSTER_CORE_CORE_H
#define CLUSTER_CORE_CORE_H

#include "cluster/core/base/effects.h"
#include "cluster/core/durability.h"
#include "cluster/core/event.h"

struct cluster_core;
struct cluster_dispatch;

/* Makes the core of node number `node`. The seed is a secret of the node. -ENOMEM. */
int cluster_core_create(const struct cluster_limits *limits, uint32_t node, uint64_t seed,
                        struct cluster_core **out);
void cluster_core_release(struct cluster_core **core);

/* Takes an event, and does what is due by its time. `out` is good until the next step. A negative
 * return refuses the event. Time does not go back: an earlier one counts as that of before. */
int cluster_core_step(struct cluster_core *core, const struct cluster_event *event,
                      struct cluster_effects *out);

/* Writes the calls that a copy covers, after its effect and before SAVED or COPIED. A writer that
 * only counts gets the size. `body` finds an answer that is outside. RAPAHUB_ESTALE: the container
 * is down or gone, and the copy of no use; else the writer's failure. */
int cluster_core_covered(const struct cluster_core *core,
                         const struct cluster_durability_copy *copy, struct hub_writer *to,
                         cluster_covered_body *body, void *user);

/* The parts of the core, to be looked at by tests. */
const struct cluster_dispatch *cluster_core_parts(const struct cluster_core *core);

#endif

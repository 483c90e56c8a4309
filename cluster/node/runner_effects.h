/* SPDX-License-Identifier: Apache-2.0 */
/* runner_effects: what the core wants done after a step is handed to the part of the node that does
 * it. Owner.
 */
#ifndef CLUSTER_NODE_RUNNER_EFFECTS_H
#define CLUSTER_NODE_RUNNER_EFFECTS_H

struct cluster_runner;

/* Carries out the effects of the last step, in order. Never waits: what takes longer ends by an
 * event. */
void cluster_runner_effects_carry_out(struct cluster_runner *runner);

/* Has a snapshot of the map written, which the watch of the metastore wants. */
void cluster_runner_effects_snapshot(struct cluster_runner *runner);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* container_steps: the containers of this node, step by step, as the core wants them: they begin,
 * managed and held, in the guests of their pools; are held and released; and are removed with all
 * that they had. The core is told by events BEGUN, REMOVED and CONTAINER. Owner.
 */
#ifndef CLUSTER_NODE_GUESTS_CONTAINER_STEPS_H
#define CLUSTER_NODE_GUESTS_CONTAINER_STEPS_H

#include "cluster/core/base/effects.h"
#include "cluster/node/guests/container_rows.h"

struct cluster_container_steps;

int cluster_container_steps_create(const struct cluster_container_rows_parts *parts,
                                   struct cluster_container_steps **out);

/* Ends all guests, and waits for that. Steps in the host end then, in its turns:
 * cluster_container_steps_open says how many are left. */
void cluster_container_steps_stop(struct cluster_container_steps *steps, uint64_t timeout_ns);
uint32_t cluster_container_steps_open(const struct cluster_container_steps *steps);
void cluster_container_steps_release(struct cluster_container_steps **steps);

/* Readable when cluster_container_steps_step has something to do. */
int cluster_container_steps_fd(const struct cluster_container_steps *steps);

/* Goes on with all of them, and returns when it is to be called again at the latest, HUB_NEVER:
 * at no time. In each turn of the node, with whether the descriptor was found readable in it. */
uint64_t cluster_container_steps_step(struct cluster_container_steps *steps, uint64_t now_ns,
                                      bool readable);

/* Carry out the effects BEGIN, HOLD and RELEASE, REMOVE, and COPY. */
void cluster_container_steps_begin(struct cluster_container_steps *steps,
                                   const struct cluster_effect *effect);
void cluster_container_steps_hold(struct cluster_container_steps *steps,
                                  const struct cluster_effect *effect, bool held);
void cluster_container_steps_remove(struct cluster_container_steps *steps,
                                    const struct cluster_effect *effect);
void cluster_container_steps_copy(struct cluster_container_steps *steps,
                                  const struct cluster_effect *effect);

#endif

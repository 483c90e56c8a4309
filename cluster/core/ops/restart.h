/* SPDX-License-Identifier: Apache-2.0 */
/* restart: what is to become of an entry of this node, and of its container: entries of the node's
 * older sessions begin anew in this one; a container that is down begins anew; one that has begun
 * serves. A container whose begin fails too often is left alone, until a person releases it.
 */
#ifndef CLUSTER_CORE_OPS_RESTART_H
#define CLUSTER_CORE_OPS_RESTART_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/lives.h"
#include "cluster/core/ops/plan.h"

/* Asks for what is to be done with the container, and plans the change of its entry. `plan` is NULL
 * where nothing can be written; else there may be no space. */
void cluster_restart_entry(struct cluster_context *context, struct cluster_lives *lives,
                           const struct cluster_address *address, struct cluster_plan *plan);

/* Returns the entry of the next epoch, in this session, with this state. */
struct cluster_entry cluster_restart_raised(const struct cluster_context *context,
                                            const struct cluster_address *address,
                                            enum cluster_entry_state state);

#endif

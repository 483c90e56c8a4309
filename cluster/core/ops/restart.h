/* SPDX-License-Identifier: Apache-2.0 */
/* restart: what is to become of an entry, and of its container, where this node owns it: one that
 * is down begins anew; one that has begun serves. The node that leads also writes what follows, for
 * its own entries and for those of other nodes: entries of older sessions begin anew in the one
 * that their node has now. A container whose begin fails too often is left alone, until a person
 * releases it.
 */
#ifndef CLUSTER_CORE_OPS_RESTART_H
#define CLUSTER_CORE_OPS_RESTART_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/lives.h"
#include "cluster/core/ops/owners.h"
#include "cluster/core/ops/plan.h"

struct cluster_restart_parts {
    struct cluster_lives *lives;
    const struct cluster_owners *owners;
};

/* Asks for what is to be done with a container of this node, and tells the node that leads where
 * this one does not; plans the change of its entry. The pool is its own, and is not being removed.
 * `plan` is NULL where nothing can be written; else there may be no space. */
void cluster_restart_entry(struct cluster_context *context,
                           const struct cluster_restart_parts *parts,
                           const struct cluster_pools_pool *pool,
                           const struct cluster_address *address, struct cluster_plan *plan);

/* Plans that a container of an earlier session of its node begins anew there, in the session that
 * the node has now. `plan` as above. */
void cluster_restart_older(const struct cluster_context *context,
                           const struct cluster_address *address, struct cluster_plan *plan);

/* Returns the entry of the next epoch, with this state: of the node that holds the container, in
 * the session that it has now. QUARANTINED has no owner, and names that node. */
struct cluster_entry cluster_restart_raised(const struct cluster_context *context,
                                            const struct cluster_address *address,
                                            enum cluster_entry_state state);

/* Says whether an entry of before a restore of the metastore is followed by one after it. */
bool cluster_restart_is_restored(const struct cluster_entry *before,
                                 const struct cluster_entry *after);

#endif

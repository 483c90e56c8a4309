/* SPDX-License-Identifier: Apache-2.0 */
/* owners: how far each container is at the node that owns it, for the node that leads: of its own
 * containers by looking, of those of other nodes by what they have told. All of that is checked
 * against the map, when it comes and again each time that it is used.
 */
#ifndef CLUSTER_CORE_OPS_OWNERS_H
#define CLUSTER_CORE_OPS_OWNERS_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/lives.h"
#include "cluster/core/ops/reports.h"

#define CLUSTER_OWNERS_MAX 4096 /* reports that are kept; one more is told again later */

struct cluster_owners;

/* -ENOMEM. */
int cluster_owners_create(uint64_t secret, struct cluster_owners **out);
void cluster_owners_release(struct cluster_owners **owners);

/* Takes what a node tells in this session of it, whose body was read. RAPAHUB_ESTALE: it is of no
 * entry that is so now, or of no session that the node has; RAPAHUB_EFULL: there are too many. Then
 * nothing is kept. */
int cluster_owners_take(struct cluster_owners *owners, const struct cluster_context *context,
                        uint32_t node, uint64_t session, const struct cluster_body_step_done *done);

/* Returns how far a container is whose entry is in the map; NONE where nothing is known. */
struct cluster_report cluster_owners_report(const struct cluster_owners *owners,
                                            const struct cluster_context *context,
                                            const struct cluster_lives *lives,
                                            const struct cluster_address *address);

/* Returns why a container was put aside; the status is 0 where that is not known any more. */
struct cluster_report cluster_owners_failure(const struct cluster_owners *owners,
                                             const struct cluster_lives *lives, uint64_t pool,
                                             uint32_t container);

/* Forgets what is of no entry any more. */
void cluster_owners_sweep(struct cluster_owners *owners, const struct cluster_context *context);

#endif

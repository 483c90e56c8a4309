/* SPDX-License-Identifier: Apache-2.0 */
/* reports: how far a node is with the containers that it owns: what the node that leads plans from.
 * It looks at its own ones directly; another node tells it, again and again, until the map shows
 * that it was heard.
 */
#ifndef CLUSTER_CORE_OPS_REPORTS_H
#define CLUSTER_CORE_OPS_REPORTS_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/lives.h"
#include "cluster/wire/body.h"

#define CLUSTER_REPORTS_AT_ONCE  64                         /* that are told in one step */
#define CLUSTER_REPORTS_LEAST_NS (UINT64_C(100) * 1000000)  /* before one is told again */
#define CLUSTER_REPORTS_MOST_NS  (UINT64_C(5) * 1000000000) /* it doubles up to this */

struct cluster_report {
    uint8_t step;     /* enum cluster_body_step; NONE: the container is on its way, or serves */
    int32_t status;   /* why not; 0: nothing has failed */
    const char *text; /* why, never NULL; good until the next change */
};

/* Returns how far this node is with a container of its own: one whose entry is of this node and
 * session, or, where its pool is being removed, that this node holds. */
struct cluster_report cluster_reports_of(const struct cluster_context *context,
                                         const struct cluster_lives *lives,
                                         const struct cluster_address *address);

/* Says whether a report may be of an entry in this state, in a pool in that state. */
bool cluster_reports_fit(uint8_t step, const struct cluster_entry *entry, uint8_t pool_state);

/* Tells the node that leads how far this one is with a container, where that is due. */
void cluster_reports_tell(struct cluster_context *context, const struct cluster_lives *lives,
                          const struct cluster_address *address);

#endif

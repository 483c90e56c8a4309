/* SPDX-License-Identifier: Apache-2.0 */
/* typed_results: what a pool's manifest says of its methods: their signatures, and how the bytes of
 * a result are read. Any thread.
 */
#ifndef CLUSTER_NODE_CALLS_TYPED_RESULTS_H
#define CLUSTER_NODE_CALLS_TYPED_RESULTS_H

#include <rapahub/call.h>
#include <rapahub/route.h>

#include "cluster/wire/record.h"

/* Visits the signature of each method. */
void cluster_typed_results_visit(const struct cluster_record_module *manifest,
                                 void (*visit)(void *visitor, const char *signature),
                                 void *visitor);

/* Calls `each` of a query for one container that has ended, with its result as the method's
 * signature says. Where it cannot be read, or the manifest is NULL, the status says so. */
void cluster_typed_results_tell(const struct cluster_record_module *manifest, uint64_t method,
                                const struct rapahub_query *query, struct rapahub_container_id from,
                                const struct rapahub_raw_answer *answer);

#endif

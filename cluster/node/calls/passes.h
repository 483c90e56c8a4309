/* SPDX-License-Identifier: Apache-2.0 */
/* passes: calls that come to the router and are meant for a container of its own host, which no
 * pool of the cluster has. Owner.
 */
#ifndef CLUSTER_NODE_CALLS_PASSES_H
#define CLUSTER_NODE_CALLS_PASSES_H

#include <stdint.h>

#include <rapahub/route.h>

struct cluster_passes {
    struct rapahub_host *host;
    uint32_t node;
    uint32_t count; /* that have not ended */
};

/* Has the host run a call by its target alone. RAPAHUB_ENOPOOL: it came here because there is no
 * such container. */
int cluster_passes_begin(struct cluster_passes *passes, const struct rapahub_raw_call *call,
                         struct rapahub_request_id request);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/holders/copy_own.h"

void cluster_copy_own_take(struct cluster_copy_own *own, const struct cluster_disk_result *result)
{
    own->copy = (struct cluster_sealed){.token = result->token, .seq = result->seq};
    own->due_ns = hub_clock_after(CLUSTER_COPY_OWN_NS);
}

bool cluster_copy_own_is_there(const struct cluster_copy_own *own)
{
    return own->copy.token != 0;
}

/* r[impl cluster.copy.cut] */
bool cluster_copy_own_is_older(struct cluster_copy_own *own, const struct cluster_sealed *other)
{
    const struct cluster_sealed both[] = {own->copy, *other};

    if (cluster_sealed_newest(both, 2) == 0)
        return false;
    own->copy.token = 0;
    return true;
}

uint64_t cluster_copy_own_due(const struct cluster_copy_own *own)
{
    return cluster_copy_own_is_there(own) ? own->due_ns : HUB_NEVER;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/copies/sealed.h"

#include <stdbool.h>

static bool is_newer(const struct cluster_sealed *one, const struct cluster_sealed *other)
{
    return one->token != other->token ? one->token > other->token : one->seq > other->seq;
}

/* r[impl cluster.copy.newest] */
uint32_t cluster_sealed_newest(const struct cluster_sealed *sealed, uint32_t count)
{
    uint32_t best = count;

    for (uint32_t i = 0; i < count; i++)
        if (sealed[i].token != 0 && (best == count || is_newer(&sealed[i], &sealed[best])))
            best = i;
    return best;
}

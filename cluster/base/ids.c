/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/ids.h"

#define GENERATION_SHIFT 52
#define EPOCH_SHIFT      16
#define CLIENT_BIT       (UINT64_C(1) << 63)

/* r[impl cluster.ids.revision] */
uint64_t cluster_ids_revision(uint32_t generation, uint64_t own)
{
    if (generation > CLUSTER_GENERATION_MAX || own == 0 || own > CLUSTER_OWN_REVISION_MAX)
        return 0;
    return (uint64_t)generation << GENERATION_SHIFT | own;
}

uint32_t cluster_ids_generation(uint64_t revision_or_token)
{
    return (uint32_t)(revision_or_token >> GENERATION_SHIFT);
}

uint64_t cluster_ids_own(uint64_t revision)
{
    return revision & CLUSTER_OWN_REVISION_MAX;
}

uint64_t cluster_ids_lineage(uint64_t epoch, uint32_t life)
{
    if (epoch == 0 || epoch > CLUSTER_EPOCH_MAX || life > CLUSTER_LIFE_MAX)
        return 0;
    return epoch << EPOCH_SHIFT | life;
}

/* r[impl cluster.ids.token] */
uint64_t cluster_ids_token(uint32_t generation, uint64_t epoch, uint32_t life)
{
    return cluster_ids_revision(generation, cluster_ids_lineage(epoch, life));
}

uint64_t cluster_ids_epoch(uint64_t token)
{
    return token >> EPOCH_SHIFT & CLUSTER_EPOCH_MAX;
}

uint32_t cluster_ids_life(uint64_t token)
{
    return (uint32_t)token & CLUSTER_LIFE_MAX;
}

uint64_t cluster_ids_next_life(uint64_t token)
{
    return cluster_ids_token(cluster_ids_generation(token), cluster_ids_epoch(token),
                             cluster_ids_life(token) + 1);
}

uint64_t cluster_ids_pool(struct rapahub_pool_id pool)
{
    return (uint64_t)pool.major << 32 | pool.minor;
}

struct rapahub_pool_id cluster_ids_pool_of(uint64_t number)
{
    return (struct rapahub_pool_id){(uint32_t)(number >> 32), (uint32_t)number};
}

/* r[impl cluster.ids.pool] */
bool cluster_ids_is_pool(uint64_t pool)
{
    uint32_t major = cluster_ids_pool_of(pool).major;

    return major >= CLUSTER_POOL_MAJOR_LEAST && major < UINT32_MAX;
}

bool cluster_ids_is_container(uint32_t container)
{
    return container < CLUSTER_CONTAINERS_MAX;
}

bool cluster_ids_is_revision(uint64_t revision)
{
    return cluster_ids_own(revision) > 0 && (revision & CLIENT_BIT) == 0;
}

bool cluster_ids_is_token(uint64_t token)
{
    return cluster_ids_epoch(token) > 0 && (token & CLIENT_BIT) == 0;
}

bool cluster_ids_is_lineage(uint64_t lineage)
{
    return cluster_ids_is_token(lineage) && cluster_ids_generation(lineage) == 0;
}

bool cluster_ids_is_client(uint64_t origin)
{
    return (origin & CLIENT_BIT) != 0;
}

/* r[impl cluster.ids.uid] */
bool cluster_ids_is_uid(struct cluster_uid uid)
{
    return uid.number > 0 &&
           (cluster_ids_is_client(uid.origin) || cluster_ids_is_revision(uid.origin));
}

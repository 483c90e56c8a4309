/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/member_cache.h"

#define MIX UINT64_C(0x9E3779B97F4A7C15)

/* Numbers that a mode does not have are left out of the key. */
static struct cluster_member_cache_entry key_of(uint64_t pool, uint32_t container,
                                                const struct rapahub_query *query)
{
    bool direct = query->mode == RAPAHUB_QUERY_DIRECT, local = query->mode == RAPAHUB_QUERY_LOCAL;

    return (struct cluster_member_cache_entry){.pool = pool,
                                               .number = direct || local ? 0 : query->number,
                                               .mode = (uint32_t)query->mode,
                                               .container = direct ? container : 0};
}

static uint32_t place_of(const struct cluster_member_cache_entry *key)
{
    uint64_t mixed = (key->pool ^ key->number * MIX ^ key->container ^ key->mode << 16) * MIX;

    return (uint32_t)(mixed >> 32) % CLUSTER_MEMBER_CACHE_SIZE;
}

bool cluster_member_cache_find(const struct cluster_member_cache *cache, uint64_t pool,
                               uint32_t container, const struct rapahub_query *query,
                               struct cluster_body_member *out)
{
    const struct cluster_member_cache_entry key = key_of(pool, container, query),
                                            *entry = &cache->entries[place_of(&key)];

    if (entry->pool != key.pool || entry->number != key.number || entry->mode != key.mode ||
        entry->container != key.container)
        return false;
    *out = entry->member;
    return true;
}

void cluster_member_cache_put(struct cluster_member_cache *cache, uint64_t pool, uint32_t container,
                              const struct rapahub_query *query,
                              const struct cluster_body_member *member)
{
    struct cluster_member_cache_entry key = key_of(pool, container, query);

    key.member = *member;
    cache->entries[place_of(&key)] = key;
}

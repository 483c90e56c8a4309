/* SPDX-License-Identifier: Apache-2.0 */
/* member_cache: to which container a call went lately, with its lineage, by what the call asked
 * for. It may be wrong by now: the node says so before it admits a call. Not thread-safe.
 */
#ifndef CLUSTER_CLIENT_MEMBER_CACHE_H
#define CLUSTER_CLIENT_MEMBER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/call.h>

#include "cluster/wire/body.h"

#define CLUSTER_MEMBER_CACHE_SIZE 64

struct cluster_member_cache {
    struct cluster_member_cache_entry {
        uint64_t pool, number; /* 0: none */
        uint32_t mode, container;
        struct cluster_body_member member;
    } entries[CLUSTER_MEMBER_CACHE_SIZE];
};

/* Finds where such a call went. False: it is not known. */
bool cluster_member_cache_find(const struct cluster_member_cache *cache, uint64_t pool,
                               uint32_t container, const struct rapahub_query *query,
                               struct cluster_body_member *out);

/* Notes it, in the place of another one perhaps. */
void cluster_member_cache_put(struct cluster_member_cache *cache, uint64_t pool, uint32_t container,
                              const struct rapahub_query *query,
                              const struct cluster_body_member *member);

#endif

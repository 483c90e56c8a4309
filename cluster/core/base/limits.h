/* SPDX-License-Identifier: Apache-2.0 */
/* limits: how much a node keeps at most. All memory is taken when its tables are made, and pages
 * that were never used occupy nothing; a table that is full refuses, and the refusal names the
 * limit.
 */
#ifndef CLUSTER_CORE_BASE_LIMITS_H
#define CLUSTER_CORE_BASE_LIMITS_H

#include <stdint.h>

struct cluster_limits {
    uint32_t pools;
    uint32_t entries;    /* in all pools, on all nodes */
    uint32_t containers; /* on this node */
    uint32_t calls;      /* open at once */
    uint32_t payloads;   /* bodies that are kept */
    uint32_t effects;    /* that wait to be carried out */
    uint32_t parked, parked_container;
    uint64_t parked_bytes, parked_container_bytes;
    uint32_t dedup, dedup_container; /* calls that are remembered */
    uint64_t dedup_bytes, dedup_container_bytes;
    uint32_t retries;
    uint64_t retry_bytes;
    uint32_t peers;      /* other nodes */
    uint32_t peer_calls; /* that are open at once of one of them, and as many that are sent to it */
    uint64_t peer_bytes; /* that the calls of one of them keep */
};

#define CLUSTER_LIMITS_MIB (UINT64_C(1) << 20)

/* The limits of a node in use. */
#define CLUSTER_LIMITS_DEFAULT                                                  \
    ((struct cluster_limits){.pools = 4096,                                     \
                             .entries = 262144,                                 \
                             .containers = 4000,                                \
                             .calls = 100000,                                   \
                             .payloads = 524288,                                \
                             .effects = 262144,                                 \
                             .parked = 65536,                                   \
                             .parked_container = 1024,                          \
                             .parked_bytes = 64 * CLUSTER_LIMITS_MIB,           \
                             .parked_container_bytes = 16 * CLUSTER_LIMITS_MIB, \
                             .dedup = 524288,                                   \
                             .dedup_container = 65536,                          \
                             .dedup_bytes = 128 * CLUSTER_LIMITS_MIB,           \
                             .dedup_container_bytes = 16 * CLUSTER_LIMITS_MIB,  \
                             .retries = 100000,                                 \
                             .retry_bytes = 256 * CLUSTER_LIMITS_MIB,           \
                             .peers = 256,                                      \
                             .peer_calls = 16384,                               \
                             .peer_bytes = 32 * CLUSTER_LIMITS_MIB})

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ids: the numbers of nodes, sessions, pools, containers, lives and revisions, and their bounds.
 * A number is never used again, and 0 is none of them.
 */
#ifndef CLUSTER_BASE_IDS_H
#define CLUSTER_BASE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/id.h>

/* Generations count how often the metastore was restored from a backup. They have 12 bits in a
 * revision and in a token, of which the highest stays 0: an origin with this bit is a client's. */
#define CLUSTER_GENERATION_MAX 2047

#define CLUSTER_OWN_REVISION_MAX ((UINT64_C(1) << 52) - 1)
#define CLUSTER_EPOCH_MAX        ((UINT64_C(1) << 36) - 1)
#define CLUSTER_LIFE_MAX         65535
#define CLUSTER_CONTAINERS_MAX   4096 /* in a pool */
#define CLUSTER_POOL_MAJOR_LEAST \
    256 /* lower ones are a host's own, the highest the nodes' offers */

/* A call over all its retries. {0, 0} is none. `origin` is a node's session, or the random number
 * of a client, whose bit 63 is set. */
struct cluster_uid {
    uint64_t origin, number;
};

/* A revision: the generation, then the store's own number, so that a store which was restored
 * counts above all that were seen before. Returns 0 where a part is out of its bounds. */
uint64_t cluster_ids_revision(uint32_t generation, uint64_t own);
uint32_t cluster_ids_generation(uint64_t revision_or_token);
uint64_t cluster_ids_own(uint64_t revision);

/* A token: one life of a container. A later life has a greater token, over restores of the store
 * too. Epochs start at 1, lives at 0. Returns 0 where a part is out of its bounds. */
uint64_t cluster_ids_token(uint32_t generation, uint64_t epoch, uint32_t life);
uint64_t cluster_ids_epoch(uint64_t token);
uint32_t cluster_ids_life(uint64_t token);

/* Returns the token of the next life in the same epoch, or 0 after the last one: then the epoch
 * must rise. */
uint64_t cluster_ids_next_life(uint64_t token);

/* A lineage: the epoch and the life in which the history of calls began. Returns 0 where a part is
 * out of its bounds. */
uint64_t cluster_ids_lineage(uint64_t epoch, uint32_t life);

/* A pool as one number, major above minor. */
uint64_t cluster_ids_pool(struct rapahub_pool_id pool);
struct rapahub_pool_id cluster_ids_pool_of(uint64_t number);

/* Say whether such a thing can be: whatever is read is asked first. */
bool cluster_ids_is_pool(uint64_t pool); /* in the cluster */
bool cluster_ids_is_container(uint32_t container);
bool cluster_ids_is_token(uint64_t token);
bool cluster_ids_is_revision(uint64_t revision); /* and so for sessions, which are revisions */
bool cluster_ids_is_lineage(uint64_t lineage);
bool cluster_ids_is_client(uint64_t origin);
bool cluster_ids_is_uid(struct cluster_uid uid);

#endif

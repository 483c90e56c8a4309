/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_arena: memory for the parts of one message, freed together, up to a bound: a message of few
 * bytes may claim many parts.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_ARENA_H
#define CLUSTER_METASTORE_ETCD_ETCD_ARENA_H

#include <stddef.h>

struct cluster_etcd_arena_chunk;

struct cluster_etcd_arena { /* zero: nothing can be taken */
    struct cluster_etcd_arena_chunk *chunks;
    size_t left; /* below the bound */
};

/* Gives zeroed memory for any type; NULL, without a diagnosis: the bound is reached, or there is no
 * memory. */
void *cluster_etcd_arena_take(struct cluster_etcd_arena *arena, size_t size);

/* Makes sure that so many bytes can be taken, in pieces whose sizes are rounded up to 16. -ENOMEM.
 */
int cluster_etcd_arena_reserve(struct cluster_etcd_arena *arena, size_t size);

/* Frees all of it. */
void cluster_etcd_arena_fini(struct cluster_etcd_arena *arena);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* index: places of a table by a hash of their keys. The keys stay in the rows, so who looks a place
 * up compares them. The hash is mixed with a secret number: another process that chooses keys
 * cannot choose those that collide. The memory is there from the beginning on, and as much of it is
 * touched as the places need: few places of a large index lie in few pages.
 */
#ifndef CLUSTER_CORE_BASE_INDEX_H
#define CLUSTER_CORE_BASE_INDEX_H

#include <stdint.h>

struct cluster_index_slot {
    uint32_t hash;
    uint32_t place; /* 0: empty */
};

struct cluster_index {
    struct cluster_index_slot *slots; /* open addressing; at most half of them have a place */
    struct cluster_index_slot *all;   /* the memory they are in */
    uint32_t mask;                    /* slots that are used - 1 */
    uint32_t last;                    /* slots - 1 of a full index */
    uint32_t max, count;
    uint64_t secret;
};

/* Bytes of memory of an index for each place that a full one has, at most, where `max` is a power
 * of two. */
#define CLUSTER_INDEX_EACH (2 * sizeof(struct cluster_index_slot))

/* Makes an index of at most `max` places, at most 2^30. -ENOMEM. */
int cluster_index_init(struct cluster_index *index, uint32_t max, uint64_t secret);
void cluster_index_fini(struct cluster_index *index);

uint32_t cluster_index_hash(const struct cluster_index *index, uint64_t a, uint64_t b, uint64_t c);

/* Where a look-up stands. The index does not change meanwhile. */
struct cluster_index_cursor {
    uint32_t hash, at;
};

/* Return the places that were put with the hash, one after another; 0 at their end. */
uint32_t cluster_index_first(const struct cluster_index *index, uint32_t hash,
                             struct cluster_index_cursor *cursor);
uint32_t cluster_index_next(const struct cluster_index *index, struct cluster_index_cursor *cursor);

/* Add and remove a place. There are never more of them than `max`; one that is removed is there. */
void cluster_index_put(struct cluster_index *index, uint32_t hash, uint32_t place);
void cluster_index_remove(struct cluster_index *index, uint32_t hash, uint32_t place);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* results: the pairs and changes that an operation found, with copies of their bytes. They are
 * collected on the thread of the writer, handed over, and read by the owner. */
#ifndef CLUSTER_METASTORE_SQLITE_RESULTS_H
#define CLUSTER_METASTORE_SQLITE_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/base/txn.h"

struct cluster_results_block;

struct cluster_results {
    struct cluster_results_block *blocks;
    struct cluster_pair *pairs;
    struct cluster_change *changes;
    uint64_t *revs; /* a revision for each change */
    size_t pairs_count, pairs_room, changes_count, changes_room;
    size_t bytes; /* in keys and values */
};

/* Add a pair, or a change of a revision, with a copy of key and value. Return 0 or -ENOMEM, without
 * a diagnosis. */
int cluster_results_add(struct cluster_results *results, const struct cluster_pair *pair);
int cluster_results_add_change(struct cluster_results *results, uint64_t rev,
                               const struct cluster_change *change);

/* Releases all and leaves it empty. */
void cluster_results_clear(struct cluster_results *results);

#endif

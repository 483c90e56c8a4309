/* SPDX-License-Identifier: Apache-2.0 */
/* unsure: a metastore in front of another, whose answers get lost. Every tenth transaction ends
 * with CLUSTER_TXN_UNKNOWN: by turns it was never sent, it has run and its answer is lost, or it is
 * still on its way and arrives some transactions later. */
#ifndef TESTS_METASTORE_UNSURE_H
#define TESTS_METASTORE_UNSURE_H

#include "cluster/metastore/metastore.h"

#define UNSURE_EVERY 10

struct unsure;

/* `below` is the caller's, and outlives it. */
struct cluster_metastore *unsure_open(struct cluster_metastore *below, uint64_t seed);

/* Counts of what was done so far to transactions. */
struct unsure_counts {
    uint64_t sent, dropped, lost, delayed;
};
struct unsure_counts unsure_counts_of(const struct cluster_metastore *store);

#endif

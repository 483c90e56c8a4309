/* SPDX-License-Identifier: Apache-2.0 */
/* random_txn: random transactions and spans on a few keys, so that they meet. */
#ifndef TESTS_METASTORE_RANDOM_TXN_H
#define TESTS_METASTORE_RANDOM_TXN_H

#include "cluster/base/txn.h"
#include "hub/base/random.h"

#define RANDOM_TXN_KEY_SIZE 8
#define RANDOM_TXN_LIST_MAX 6
#define RANDOM_TXN_IDS      80

struct random_txn_source {
    struct hub_random random;
    uint64_t revision; /* the last one */
    bool once;         /* a list names a key once: a repeated transaction gets what is there now */
    struct cluster_txn_id ids[RANDOM_TXN_IDS]; /* the last ones, to be repeated */
    uint64_t ids_count, seq[3], boot[3];
};

/* A transaction, or a span, and what it is made of. */
struct random_txn {
    char keys[3 * RANDOM_TXN_LIST_MAX][RANDOM_TXN_KEY_SIZE];
    size_t keys_count;
    char large[9000];
    struct cluster_compare compares[RANDOM_TXN_LIST_MAX];
    struct cluster_write then[RANDOM_TXN_LIST_MAX], otherwise[RANDOM_TXN_LIST_MAX];
    struct cluster_txn txn;
};

uint64_t random_txn_below(struct random_txn_source *source, uint64_t most);
uint64_t random_txn_revision(struct random_txn_source *source); /* near the last one */
void random_txn_make(struct random_txn_source *source, struct random_txn *parts); /* but its id */
struct cluster_txn_id random_txn_id(struct random_txn_source *source); /* new, or a used one */
struct cluster_span random_txn_span(struct random_txn_source *source, struct random_txn *parts);

#endif

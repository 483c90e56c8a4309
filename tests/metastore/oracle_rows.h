/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_rows: all that was ever written to the oracle's metastore: a list, searched from its
 * beginning. It outlives a store that is closed. */
#ifndef TESTS_METASTORE_ORACLE_ROWS_H
#define TESTS_METASTORE_ORACLE_ROWS_H

#include "cluster/base/txn.h"

/* The end of an operation. */
struct oracle_found {
    int status;
    uint64_t rev;
    bool more;
    struct cluster_pair *pairs; /* own their bytes */
    size_t count;
};
void oracle_rows_clear(struct oracle_found *found);

void oracle_rows_reset(void); /* forgets all */
uint64_t oracle_rows_revision(void);
uint64_t oracle_rows_compacted(void);

void oracle_rows_txn(const struct cluster_txn *txn, struct oracle_found *found);
void oracle_rows_read(const struct cluster_span *span, uint64_t rev, struct oracle_found *found);
int oracle_rows_compact(uint64_t before);

/* The first revision after `told` that has changes in the span, and these; 0: none. */
uint64_t oracle_rows_next_change(const struct cluster_span *span, uint64_t told,
                                 struct cluster_change *changes, size_t *count);

struct rapahub_bytes oracle_rows_own(struct rapahub_bytes bytes); /* a copy */

#endif

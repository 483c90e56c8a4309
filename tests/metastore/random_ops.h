/* SPDX-License-Identifier: Apache-2.0 */
/* random_ops: random operations, each done on a store and on the oracle, whose ends must be equal,
 * and so must be what watches of both are told. */
#ifndef TESTS_METASTORE_RANDOM_OPS_H
#define TESTS_METASTORE_RANDOM_OPS_H

#include "cluster/metastore/metastore.h"

struct random_ops {
    uint64_t seed, count;
    bool unsure;      /* every tenth transaction's answer is lost: unsure.h */
    bool cut;         /* the store is beyond a link that is cut now and then */
    unsigned at_once; /* operations under way together; 1 where `unsure` */
};

/* Returns 0, or prints the first difference, with the seed, and returns -1. Prints what was done.
 */
int random_ops_run(const struct cluster_metastore_end *end, const struct random_ops *ops);

#endif

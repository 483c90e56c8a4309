/* SPDX-License-Identifier: Apache-2.0 */
/* store_wait: operations of a metastore whose ends are waited for, as a node does before it serves.
 * A metastore that does not answer in time is given up: -ETIMEDOUT. The owner of the store.
 */
#ifndef CLUSTER_NODE_BOOT_STORE_WAIT_H
#define CLUSTER_NODE_BOOT_STORE_WAIT_H

#include <stdbool.h>

#include "cluster/metastore/marker.h"
#include "cluster/metastore/metastore.h"

struct cluster_store_wait {
    struct cluster_metastore *store;
    struct cluster_marker *marker; /* NULL: for reads only */
    uint64_t wait_ns;
    int stop_fd;     /* readable once all waits shall end: RAPAHUB_ECANCELED; 0 or -1: none */
    const char *url; /* for messages */
    uint64_t opened; /* revision at which the store was opened; 0: not known */
};

/* Runs a transaction. *status is CLUSTER_TXN_OK or CLUSTER_TXN_CONFLICT; anything else fails, and
 * so does one that writes and gets the outcome of an earlier life that had the number of this one.
 */
int cluster_store_wait_txn(const struct cluster_store_wait *wait, const struct cluster_txn *txn,
                           int *status, uint64_t *rev);

/* Gives the revision of now. */
int cluster_store_wait_sync(const struct cluster_store_wait *wait, uint64_t *rev);

/* Reads all pairs of a span, page by page at its revision, which is 0 only for a span of one page.
 * A visit that fails ends the reading. */
typedef int cluster_store_wait_visit(void *user, const struct cluster_pair *pair);
int cluster_store_wait_range(const struct cluster_store_wait *wait, const struct cluster_span *span,
                             cluster_store_wait_visit *visit, void *user);

#endif

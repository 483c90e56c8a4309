/* SPDX-License-Identifier: Apache-2.0 */
/* txn_copy: a transaction with copies of its lists and their bytes, in one piece of memory. */
#ifndef CLUSTER_METASTORE_TXN_COPY_H
#define CLUSTER_METASTORE_TXN_COPY_H

#include "cluster/base/txn.h"

/* To be freed by free(). NULL without memory, with a diagnosis. Bytes that the kind of an operation
 * has no use for are not looked at. */
struct cluster_txn *cluster_txn_copy(const struct cluster_txn *txn);

#endif

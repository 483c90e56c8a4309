/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_status: the failures of etcd, as the ends of operations. A transaction ends with UNKNOWN
 * unless it is certain that it did not and will not happen.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_STATUS_H
#define CLUSTER_METASTORE_ETCD_ETCD_STATUS_H

#include "cluster/base/txn.h"
#include "cluster/metastore/etcd/grpc.h"

/* `txn`: it may have changed something. */
enum cluster_txn_status cluster_etcd_status_of(const struct cluster_grpc_end *end, bool txn);

#endif

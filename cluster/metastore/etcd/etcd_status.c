/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_status.h"

#include <string.h>

/* Statuses of gRPC that etcd gives before it does anything, told apart by their texts. */
static const struct {
    uint32_t status;
    const char *text; /* a part of it; "": any */
    enum cluster_txn_status is;
} certain[] = {
    {CLUSTER_GRPC_RESOURCE_EXHAUSTED, "space exceeded", CLUSTER_TXN_NO_SPACE},
    {CLUSTER_GRPC_RESOURCE_EXHAUSTED, "larger than max", CLUSTER_TXN_TOO_BIG},
    {CLUSTER_GRPC_RESOURCE_EXHAUSTED, "too many requests", CLUSTER_TXN_NOT_APPLIED},
    {CLUSTER_GRPC_INVALID_ARGUMENT, "too large", CLUSTER_TXN_TOO_BIG},
    {CLUSTER_GRPC_INVALID_ARGUMENT, "too many operations", CLUSTER_TXN_TOO_BIG},
    {CLUSTER_GRPC_INVALID_ARGUMENT, "", CLUSTER_TXN_DENIED},
    {CLUSTER_GRPC_OUT_OF_RANGE, "compacted", CLUSTER_TXN_COMPACTED},
    {CLUSTER_GRPC_OUT_OF_RANGE, "", CLUSTER_TXN_DENIED},
    {CLUSTER_GRPC_PERMISSION_DENIED, "", CLUSTER_TXN_DENIED},
    {CLUSTER_GRPC_UNAUTHENTICATED, "", CLUSTER_TXN_DENIED},
    {CLUSTER_GRPC_FAILED_PRECONDITION, "", CLUSTER_TXN_DENIED},
    {CLUSTER_GRPC_UNIMPLEMENTED, "", CLUSTER_TXN_NOT_APPLIED},
    {CLUSTER_GRPC_DATA_LOSS, "", CLUSTER_TXN_NOT_APPLIED},
};

/* r[impl cluster.store.etcd.outcome] */
enum cluster_txn_status cluster_etcd_status_of(const struct cluster_grpc_end *end, bool txn)
{
    if (end->refused)
        return CLUSTER_TXN_NOT_APPLIED;
    for (size_t i = 0; !end->too_large && i < sizeof certain / sizeof *certain; i++)
        if (certain[i].status == end->status && strstr(end->text, certain[i].text))
            return certain[i].is;
    return txn ? CLUSTER_TXN_UNKNOWN : CLUSTER_TXN_NOT_APPLIED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* seat_rights: which parts of the metastore a node may read and write that is not on the seat's own
 * machine. */
#ifndef CLUSTER_METASTORE_SEAT_RIGHTS_H
#define CLUSTER_METASTORE_SEAT_RIGHTS_H

#include <stdbool.h>

#include "cluster/base/txn.h"

/* A node, as its link has proved: one life of it. */
struct cluster_seat_node {
    uint32_t node, boot;
};

struct cluster_seat_rights {
    bool (*may_run)(const struct cluster_seat_node *node, const struct cluster_txn *txn);
    bool (*may_read)(const struct cluster_seat_node *node, const struct cluster_span *span);
};

/* A node writes its own session, its own record and its own markers, in transactions of this life
 * of it, and nothing else: the node that leads writes the rest, and is on the seat. It reads, and
 * compares, all keys of the cluster and its own markers. */
extern const struct cluster_seat_rights cluster_seat_rights_of_nodes;

#endif

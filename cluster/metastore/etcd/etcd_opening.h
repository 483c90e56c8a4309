/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_opening: finds the store in etcd, or begins one, before there is anything to be told. It
 * waits. */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_OPENING_H
#define CLUSTER_METASTORE_ETCD_ETCD_OPENING_H

#include "cluster/metastore/etcd/etcd_members.h"

/* The question that opens a store: the hooks of the session hand its answer on. */
struct cluster_etcd_opening {
    struct cluster_etcd_members *members;
    int32_t stream;
    bool creates, over; /* the question makes the store; its answer has come */
    int failure;
    struct cluster_etcd_answer answer;
    uint64_t revision;
};

/* Sets generation and base of the space, and the revision of etcd. RAPAHUB_ECONFIG: there is no
 * such store, or it is of a later release; -ETIMEDOUT or what failed last: no member answers. */
int cluster_etcd_opening_run(struct cluster_etcd_opening *opening, const char *url, bool create);

/* The hooks. */
int cluster_etcd_opening_message(struct cluster_etcd_opening *opening, struct rapahub_bytes bytes);
void cluster_etcd_opening_over(struct cluster_etcd_opening *opening,
                               const struct cluster_grpc_end *end);
void cluster_etcd_opening_down(struct cluster_etcd_opening *opening);

#endif

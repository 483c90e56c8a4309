/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_request: what is asked of etcd, as the bytes of its messages.
 *
 * A transaction that writes is one transaction of etcd. If no life of the node that is later has
 * written, and no transaction of its number or a later one of its slot, its compares are looked at
 * in a transaction inside of it, and its marker is written. Else the marker is read, with what the
 * list would get. So it never runs twice, whether it is sent again or comes late. The marker is not
 * written inside: etcd looks for space in its quota only where the outer one puts something.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_REQUEST_H
#define CLUSTER_METASTORE_ETCD_ETCD_REQUEST_H

#include "cluster/metastore/etcd/etcd_space.h"

#define CLUSTER_ETCD_REQUEST_MAX ((size_t)4 << 20) /* etcd is to take so much: its own option */

/* The parts of the answer to a transaction that writes: how many operations etcd did if it ran, the
 * last of which is the caller's transaction; and else. */
#define CLUSTER_ETCD_RAN    4
#define CLUSTER_ETCD_RECALL 3

struct cluster_etcd_message {
    uint8_t *data; /* malloc */
    size_t size;
};

struct cluster_etcd_request_range {
    struct cluster_span span;
    uint64_t limit; /* pairs */
    bool stale;
};

/* Each fails with -ENOMEM, or -EMSGSIZE where etcd would not take it. */
int cluster_etcd_request_txn(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                             struct cluster_etcd_message *out);

/* Asks whether a transaction that writes has run, and what its list would get then. It writes
 * nothing, so a full etcd answers it. `txn` has its id, and kinds and keys of its lists; nothing
 * else is looked at. */
int cluster_etcd_request_recall(const struct cluster_etcd_space *space,
                                const struct cluster_txn *txn, struct cluster_etcd_message *out);
int cluster_etcd_request_range(const struct cluster_etcd_space *space,
                               const struct cluster_etcd_request_range *range,
                               struct cluster_etcd_message *out);
int cluster_etcd_request_compact(uint64_t before, struct cluster_etcd_message *out);

/* Reads /PREFIX/meta, the value of which is small; or makes it, if it is not there. */
int cluster_etcd_request_meta(const struct cluster_etcd_space *space,
                              struct cluster_etcd_message *out);
int cluster_etcd_request_create(const struct cluster_etcd_space *space, const char *value,
                                struct cluster_etcd_message *out);

/* `after`: the last revision of etcd of which the watch is told nothing. */
int cluster_etcd_request_watch(const struct cluster_etcd_space *space,
                               const struct cluster_span *span, uint64_t watch, uint64_t after,
                               struct cluster_etcd_message *out);
int cluster_etcd_request_unwatch(uint64_t watch, struct cluster_etcd_message *out);

#endif

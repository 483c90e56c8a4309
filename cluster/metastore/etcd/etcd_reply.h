/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_reply: what etcd answered, read from the bytes of its messages, and checked against what it
 * was asked. RAPAHUB_EPROTOCOL: it can be no answer to that. The pairs are in the arena of the
 * answer.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_REPLY_H
#define CLUSTER_METASTORE_ETCD_ETCD_REPLY_H

#include "cluster/metastore/etcd/etcd_arena.h"
#include "cluster/metastore/etcd/etcd_request.h"
#include "cluster/metastore/etcd/rpc.pb-c.h"

#define CLUSTER_ETCD_VERSION_MAX 32

struct cluster_etcd_answer { /* zero at first */
    struct cluster_etcd_arena arena;
    int status;        /* enum cluster_txn_status */
    uint64_t rev;      /* told to the caller */
    uint64_t revision; /* etcd had it when it answered */
    bool more;
    struct cluster_pair *pairs;
    size_t count;
};

void cluster_etcd_reply_clear(struct cluster_etcd_answer *answer);

/* `txn` has the lists that were sent; of the rest only its id is looked at. */
int cluster_etcd_reply_txn(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                           struct rapahub_bytes bytes, struct cluster_etcd_answer *out);

/* The answer to cluster_etcd_request_recall: NO_SPACE, if the transaction has not run. */
int cluster_etcd_reply_recall(const struct cluster_etcd_space *space, const struct cluster_txn *txn,
                              struct rapahub_bytes bytes, struct cluster_etcd_answer *out);

/* At most CLUSTER_METASTORE_PAGE_MAX bytes of pairs are given; `more` says what was left. */
int cluster_etcd_reply_range(const struct cluster_etcd_space *space,
                             const struct cluster_etcd_request_range *asked,
                             struct rapahub_bytes bytes, struct cluster_etcd_answer *out);

int cluster_etcd_reply_compact(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                               struct cluster_etcd_answer *out);

/* The answer to cluster_etcd_request_meta: status NOT_APPLIED, if there is no store; else *meta has
 * the pair, whose key has its lead. */
int cluster_etcd_reply_meta(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                            struct cluster_etcd_answer *out, struct rapahub_bytes *value,
                            uint64_t *created);
int cluster_etcd_reply_create(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                              struct cluster_etcd_answer *out);

struct cluster_etcd_member_status {
    uint64_t cluster_id;
    bool has_leader;
    char version[CLUSTER_ETCD_VERSION_MAX];
};
int cluster_etcd_reply_status(struct rapahub_bytes bytes, struct cluster_etcd_member_status *out);

/* Reads a message of the stream of watches into the arena. Its header was looked at. */
int cluster_etcd_reply_watch(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                             struct cluster_etcd_arena *arena, const Etcd__WatchResponse **out);

/* Makes a pair of one of etcd. False: it is none of this store's. */
bool cluster_etcd_reply_pair(const struct cluster_etcd_space *space, const Etcd__KeyValue *from,
                             struct cluster_pair *to);

#endif

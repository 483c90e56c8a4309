/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_calls: what etcd is asked, from the request to its end. A call waits until there is a
 * session, then for its answer, then to be told. A session that ends leaves open what happened to
 * the transactions that were sent; reads are asked again by the next one.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_CALLS_H
#define CLUSTER_METASTORE_ETCD_ETCD_CALLS_H

#include "cluster/metastore/etcd/etcd_reply.h"
#include "cluster/metastore/etcd/grpc.h"
#include "cluster/metastore/metastore.h"
#include "hub/base/list.h"

enum cluster_etcd_call_kind {
    CLUSTER_ETCD_TXN,
    CLUSTER_ETCD_RANGE,
    CLUSTER_ETCD_PEEK,
    CLUSTER_ETCD_SYNC,
    CLUSTER_ETCD_CHECK, /* a sync of the store itself, which is not counted */
    CLUSTER_ETCD_COMPACT,
    CLUSTER_ETCD_CALL_KINDS
};

struct cluster_etcd_call {
    struct hub_list link;
    enum cluster_etcd_call_kind kind;
    uint64_t number;      /* calls that were made later have higher ones */
    uint64_t deadline_ns; /* for its end; 0: the next step gives it one */
    uint64_t tried_ns;    /* for an answer by this session; 0: the next step gives it one */
    int32_t stream;
    bool recalls;  /* a transaction for which there was no space, and now is asked whether it ran */
    bool answered; /* its message has come, and waits for its status */
    struct cluster_txn *txn;                 /* its lists, without values */
    struct cluster_etcd_request_range range; /* with bytes of its own */
    struct cluster_etcd_message message;
    struct cluster_etcd_answer answer;

    cluster_on_txn *on_txn; /* its kind says which of these it has */
    cluster_on_range *on_range;
    cluster_on_stale *on_stale;
    void *user;
    uint8_t bytes[]; /* its span has them */
};

struct cluster_etcd_calls {
    const struct cluster_etcd_space *space;
    struct hub_list waiting, sent, ended;
    uint64_t last;        /* number of a call */
    uint64_t txns, reads; /* that are open */
    uint64_t told_txns, revision;
};

void cluster_etcd_calls_init(struct cluster_etcd_calls *calls,
                             const struct cluster_etcd_space *space);

/* Each makes a call, of which the caller fills in the callback. NULL, with a diagnosis; *failure
 * has the code. */
struct cluster_etcd_call *cluster_etcd_calls_txn(struct cluster_etcd_calls *calls,
                                                 const struct cluster_txn *txn, int *failure);
struct cluster_etcd_call *cluster_etcd_calls_read(struct cluster_etcd_calls *calls,
                                                  enum cluster_etcd_call_kind kind,
                                                  const struct cluster_span *span, int *failure);
struct cluster_etcd_call *cluster_etcd_calls_compact(struct cluster_etcd_calls *calls,
                                                     uint64_t before, int *failure);

void cluster_etcd_calls_add(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call);

/* Adds one that is not sent, and ends with this status. */
void cluster_etcd_calls_add_ended(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call,
                                  int status);

/* Sends calls that wait. Any that the session refuses goes on waiting. */
void cluster_etcd_calls_send(struct cluster_etcd_calls *calls, struct cluster_grpc *grpc);

/* The hooks of the session: the answer of a call, whose failure is that of the session, and its
 * end. */
int cluster_etcd_calls_message(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call,
                               struct rapahub_bytes message);
void cluster_etcd_calls_over(struct cluster_etcd_calls *calls, struct cluster_etcd_call *call,
                             const struct cluster_grpc_end *end);

/* The session has ended. */
void cluster_etcd_calls_down(struct cluster_etcd_calls *calls);

/* Ends what has waited too long for a session. Returns whether this session has not answered one in
 * time: then it is to be given up. */
bool cluster_etcd_calls_expire(struct cluster_etcd_calls *calls, uint64_t now_ns);

/* Returns when that is to be called again, or HUB_NEVER. */
uint64_t cluster_etcd_calls_due(struct cluster_etcd_calls *calls, uint64_t now_ns);

/* Calls the callbacks of those that have ended; or of all, with CLUSTER_TXN_CLOSED. */
void cluster_etcd_calls_tell(struct cluster_etcd_calls *calls);
void cluster_etcd_calls_close(struct cluster_etcd_calls *calls);

#endif

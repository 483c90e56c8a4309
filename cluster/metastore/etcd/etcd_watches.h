/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_watches: the watches of a store in etcd, all on one stream of the session. With each session
 * they are asked for anew, after the last revision that each was told.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_WATCHES_H
#define CLUSTER_METASTORE_ETCD_ETCD_WATCHES_H

#include "cluster/metastore/etcd/etcd_calls.h"

struct cluster_etcd_watches {
    struct cluster_etcd_calls *calls;
    struct hub_list all;
    struct hub_list messages; /* that came, and were not told yet */
    uint64_t last, count;
    int32_t stream; /* 0: there is none */
    bool lost;      /* the stream has ended, or cannot go on: so must the session */
    bool checking;  /* whether revisions of watches are to come is being asked */
};

void cluster_etcd_watches_init(struct cluster_etcd_watches *watches,
                               struct cluster_etcd_calls *calls);

/* -EBUSY, -ENOMEM. */
int cluster_etcd_watches_open(struct cluster_etcd_watches *watches, const struct cluster_span *span,
                              cluster_on_change *on_change, void *user, uint64_t *out);

/* Ends a watch that is told nothing more. `grpc` NULL: there is no session. */
void cluster_etcd_watches_end(struct cluster_etcd_watches *watches, struct cluster_grpc *grpc,
                              uint64_t number);

/* Asks etcd for those that it has not been asked for. */
void cluster_etcd_watches_ask(struct cluster_etcd_watches *watches, struct cluster_grpc *grpc);

/* The hooks of the session; a failure is that of the session. */
int cluster_etcd_watches_message(struct cluster_etcd_watches *watches,
                                 struct rapahub_bytes message);
void cluster_etcd_watches_over(struct cluster_etcd_watches *watches);

/* The session has ended. Its messages that were not told are asked for again. */
void cluster_etcd_watches_down(struct cluster_etcd_watches *watches);

/* Calls the callbacks of what came. */
void cluster_etcd_watches_tell(struct cluster_etcd_watches *watches);
void cluster_etcd_watches_close(struct cluster_etcd_watches *watches);

#endif

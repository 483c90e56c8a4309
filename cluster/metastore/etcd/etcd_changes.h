/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_changes: the changes that a watch in etcd tells, put together by revision: etcd may send
 * those of one revision in several messages. They are views of the messages, which are kept until
 * the revision was told.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_CHANGES_H
#define CLUSTER_METASTORE_ETCD_ETCD_CHANGES_H

#include "cluster/metastore/etcd/etcd_reply.h"
#include "hub/base/list.h"

#define CLUSTER_ETCD_CHANGES_MOST 4096               /* in one revision */
#define CLUSTER_ETCD_CHANGES_KEPT ((size_t)64 << 20) /* bytes of messages of one revision */

struct cluster_etcd_batch; /* a message */

struct cluster_etcd_changes {
    uint64_t told;                  /* the last revision of etcd of which all was told */
    uint64_t last;                  /* the changes that wait have it */
    struct hub_list batches;        /* the last one is being read, the others are kept */
    size_t kept;                    /* bytes of them */
    size_t at;                      /* the next event in the last batch */
    struct cluster_change *changes; /* all have the revision `last` */
    size_t count, room;
};

/* The changes of one revision, until the next call; count 0: all up to it were told. */
struct cluster_etcd_told {
    uint64_t rev;
    const struct cluster_change *changes;
    size_t count;
};

/* Reads a message. RAPAHUB_EPROTOCOL: it is none; -ENOMEM. */
int cluster_etcd_changes_read(const struct cluster_etcd_space *space, struct rapahub_bytes bytes,
                              struct cluster_etcd_batch **out);
const Etcd__WatchResponse *cluster_etcd_changes_response(const struct cluster_etcd_batch *batch);
void cluster_etcd_changes_drop(struct cluster_etcd_batch *batch);

void cluster_etcd_changes_init(struct cluster_etcd_changes *changes);

/* Forgets what waits, but not what was told. */
void cluster_etcd_changes_fini(struct cluster_etcd_changes *changes);

/* Adds a message that came, which is freed here. */
void cluster_etcd_changes_add(struct cluster_etcd_changes *changes,
                              struct cluster_etcd_batch *batch);

/* Returns 1: *out is to be told; 0: nothing more is whole. -ESTALE, without a diagnosis: etcd does
 * not know any more what was there before; RAPAHUB_EPROTOCOL: a change can be none of the span;
 * -ENOMEM. */
int cluster_etcd_changes_next(struct cluster_etcd_changes *changes,
                              const struct cluster_etcd_space *space,
                              const struct cluster_span *span, struct cluster_etcd_told *out);

#endif

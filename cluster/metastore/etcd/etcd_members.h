/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_members: the session with one of the members of an etcd. Each session begins with a question
 * for the member's status: it says whether this is etcd, which one, and whether it has a leader. A
 * member that fails, or does not answer, is left for the next one; after all have failed there is a
 * pause, which grows. Nothing here waits. For one thread.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_MEMBERS_H
#define CLUSTER_METASTORE_ETCD_ETCD_MEMBERS_H

#include "cluster/link/name_lookup.h"
#include "cluster/metastore/etcd/etcd_link.h"
#include "cluster/metastore/etcd/etcd_reply.h"
#include "cluster/metastore/etcd/etcd_url.h"

#define CLUSTER_ETCD_MEMBERS_WHY 512

/* Upwards: a constant table. `message` and `ended` as in struct cluster_grpc_hooks. `down`: the
 * session has ended, and with it all its calls. */
struct cluster_etcd_members_hooks {
    struct cluster_grpc_hooks calls;
    void (*down)(void *user);
};

struct cluster_etcd_members {
    const struct cluster_etcd_url *url;
    struct cluster_etcd_space *space; /* its cluster_id is set by the first member that answers */
    struct ssl_ctx_st *tls;
    int epoll;
    const struct cluster_etcd_members_hooks *hooks;
    void *user;

    uint32_t state;
    unsigned turn;   /* the member */
    unsigned failed; /* attempts since one succeeded */
    struct cluster_name_lookup *lookup;
    struct cluster_name_lookup_found found;
    unsigned address; /* an index into `found` */
    struct cluster_etcd_link *link;
    int32_t greeting; /* the stream of the first question */
    struct cluster_etcd_member_status status;
    int failure;          /* the member is none that can be used */
    uint64_t deadline_ns; /* for the session to begin; 0: the next step gives it one */
    uint64_t retry_ns, heard_ns, pinged_ns;
    int why_code;
    char why[CLUSTER_ETCD_MEMBERS_WHY]; /* the last failure */
};

/* The caller has filled in the members up to `user`. */
void cluster_etcd_members_init(struct cluster_etcd_members *members);
void cluster_etcd_members_fini(struct cluster_etcd_members *members);

/* Goes on, and moves bytes. Returns when it is to be called again, if nothing comes. */
uint64_t cluster_etcd_members_step(struct cluster_etcd_members *members, uint64_t now_ns);

/* Forgets all times: the next step may be told others. */
void cluster_etcd_members_restart_clock(struct cluster_etcd_members *members);

/* Returns the session, or NULL: there is none yet. */
struct cluster_grpc *cluster_etcd_members_grpc(struct cluster_etcd_members *members);

/* Sends what waits. */
void cluster_etcd_members_flush(struct cluster_etcd_members *members);

/* Leaves this member for the next one. Not from inside of a hook. */
void cluster_etcd_members_pass(struct cluster_etcd_members *members, uint64_t now_ns,
                               const char *why);

#endif

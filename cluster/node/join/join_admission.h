/* SPDX-License-Identifier: Apache-2.0 */
/* join_admission: a node that asks to join is given a number and a certificate, if its token is
 * good. The number, the use of the token and the record of the node are one transaction, so of two
 * that show the last use of a token one gets a number; and an answer that is lost leaves a number
 * that no node has. On the node that has the authority. Owner; nothing waits.
 */
#ifndef CLUSTER_NODE_JOIN_JOIN_ADMISSION_H
#define CLUSTER_NODE_JOIN_JOIN_ADMISSION_H

#include "cluster/metastore/marker.h"
#include "cluster/node/identity/node_identity.h"
#include "cluster/wire/body.h"

/* Upwards. A constant table. */
struct cluster_join_admission_hooks {
    /* The one who asked has joined, or `ok` is NULL: it is refused, with the diagnosis. All of it
     * is good until this returns. */
    void (*ended)(void *user, uint64_t number, const struct cluster_body_join_ok *ok);
};

struct cluster_join_admission_parts { /* all live until the metastore is closed */
    struct cluster_marker *marker;
    const struct cluster_node_identity *identity;
    const char *place; /* URL of the metastore, which who joins is to reach; NULL: by this node */
    const struct cluster_join_admission_hooks *hooks;
    void *user;
};

/* Begins; the hook tells the end, by this number, once, after this has returned. A failure, with
 * its diagnosis, refuses it at once. RAPAHUB_ESTATE: this node does not have the authority.
 * -EINVAL: the token or the request is none. RAPAHUB_EBUSY. */
int cluster_join_admission_begin(const struct cluster_join_admission_parts *parts, uint64_t number,
                                 const struct cluster_body_join *join);

#endif

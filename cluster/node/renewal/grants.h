/* SPDX-License-Identifier: Apache-2.0 */
/* grants: gives other nodes new certificates, on the node that has the authority. The name in a new
 * one is that of the certificate by which its node is linked. The record of the node has the serial
 * number before the node has the certificate, so people find each one that must be revoked. Owner.
 */
#ifndef CLUSTER_NODE_RENEWAL_GRANTS_H
#define CLUSTER_NODE_RENEWAL_GRANTS_H

#include "cluster/metastore/marker.h"
#include "cluster/node/identity/node_identity.h"
#include "cluster/node/peers/peer_links.h"

#define CLUSTER_GRANTS_GAP_NS (UINT64_C(30) * 1000000000) /* between two of one link */

struct cluster_grants;

/* A node that is linked; or was, while its last question is answered. */
struct cluster_grants_node {
    struct cluster_grants *grants;
    uint32_t node;   /* 0: none, or its link is lost */
    uint32_t last;   /* the node that had the place last: its times count for its next link, too */
    bool busy;       /* the metastore has a request of it */
    bool asked_here; /* by this link */
    uint64_t asked_ns; /* 0: not yet */
    unsigned rounds;
    struct cluster_pem certificate;
    char serial[CLUSTER_CERTIFICATE_SERIAL_TEXT];
};

struct cluster_grants_parts { /* all live longer */
    struct cluster_peer_links *links;
    struct cluster_marker *marker; /* closed before the grants are released */
    const struct cluster_node_identity *identity;
};

struct cluster_grants {
    struct cluster_grants_parts parts;
    struct cluster_grants_node nodes[2 * CLUSTER_PEER_LINKS_MAX]; /* also of lost links */
};

void cluster_grants_init(struct cluster_grants *grants, const struct cluster_grants_parts *parts);

/* The links tell this. A question that comes before the answer to the last one, or sooner than
 * CLUSTER_GRANTS_GAP_NS after it, is RAPAHUB_EPROTOCOL; after one of an earlier link it is answered
 * with RAPAHUB_EAGAIN. */
void cluster_grants_up(struct cluster_grants *grants, uint32_t node);
void cluster_grants_lost(struct cluster_grants *grants, uint32_t node);
int cluster_grants_ask(struct cluster_grants *grants, uint32_t node,
                       const struct cluster_body_renew *renew, uint64_t now_ns);

#endif

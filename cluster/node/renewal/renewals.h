/* SPDX-License-Identifier: Apache-2.0 */
/* renewals: a node without the authority has its certificate renewed by the node that has it, over
 * their link; a node with the authority gives others theirs. Owner; nothing waits.
 */
#ifndef CLUSTER_NODE_RENEWAL_RENEWALS_H
#define CLUSTER_NODE_RENEWAL_RENEWALS_H

#include "cluster/node/renewal/grants.h"

struct cluster_renewals;

struct cluster_renewals_parts { /* all live longer */
    struct cluster_peer_links *links;
    struct cluster_marker *marker; /* closed before the renewals are released */
    struct cluster_node_identity *identity;
    uint32_t authority; /* the node that has the authority; 0: this one */
};

/* RAPAHUB_ENOMEM. */
int cluster_renewals_create(const struct cluster_renewals_parts *parts,
                            struct cluster_renewals **out);
void cluster_renewals_release(struct cluster_renewals **renewals);

/* For cluster_peer_links_set_user, with the renewals. */
extern const struct cluster_peer_links_hooks cluster_renewals_hooks;

/* Asks for a certificate when the one of this node is due. Other nodes know the session of this one
 * by then: see peer_links.h. Returns when it is to be called again at
 * the latest. */
uint64_t cluster_renewals_step(struct cluster_renewals *renewals, uint64_t now_ns);

#endif

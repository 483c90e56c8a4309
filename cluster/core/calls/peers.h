/* SPDX-License-Identifier: Apache-2.0 */
/* peers: the other nodes with which this one exchanges calls: whether the link to each is up, and
 * how many calls are open of it and at it.
 */
#ifndef CLUSTER_CORE_CALLS_PEERS_H
#define CLUSTER_CORE_CALLS_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/limits.h"

struct cluster_peers;

struct cluster_peer {
    uint64_t session; /* the last that it had */
    uint64_t bytes;   /* that the calls which it sent keep */
    uint32_t node;
    uint32_t came; /* calls that it sent and that are open here */
    uint32_t sent; /* calls of this node that are under way to it */
    bool up;
};

/* Makes a table within these limits. -ENOMEM. */
int cluster_peers_create(const struct cluster_limits *limits, struct cluster_peers **out);
void cluster_peers_release(struct cluster_peers **peers);

/* Return a peer, or NULL: it is not known, or there are too many. It stays in its place. */
struct cluster_peer *cluster_peers_find(const struct cluster_peers *peers, uint32_t node);
struct cluster_peer *cluster_peers_add(struct cluster_peers *peers, uint32_t node);

/* Forgets a peer that has no calls any more. */
void cluster_peers_remove(struct cluster_peers *peers, uint32_t node);

/* Say whether one call more may be sent to a node now, and whether one more that it sent, of so
 * many bytes, may be open here. */
bool cluster_peers_may_send(const struct cluster_peers *peers, uint32_t node);
bool cluster_peers_may_take(const struct cluster_peers *peers, uint32_t node, uint64_t bytes);

/* Count calls of a peer that is known, up or down. */
void cluster_peers_count_sent(struct cluster_peers *peers, uint32_t node, int change);
void cluster_peers_count_came(struct cluster_peers *peers, uint32_t node, int change,
                              uint64_t bytes);

struct cluster_peers_figures {
    uint32_t peers, up, came, sent;
    uint64_t bytes;
};
struct cluster_peers_figures cluster_peers_figures(const struct cluster_peers *peers);

#endif

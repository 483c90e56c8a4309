/* SPDX-License-Identifier: Apache-2.0 */
/* peer_dial: a link to a node is kept: dialled, and dialled again when it is lost, each time
 * after a longer while. For the files of this folder alone.
 */
#ifndef CLUSTER_NODE_PEERS_PEER_DIAL_H
#define CLUSTER_NODE_PEERS_PEER_DIAL_H

#include "cluster/node/peers/peer_link.h"

/* Begins to dial the seat: see cluster_peer_links_dial. */
int cluster_peer_dial_begin(struct cluster_peer_links *links, const char *to);

/* Dials at once, if no link is there, and after a failure as soon as at first. */
void cluster_peer_dial_hurry(struct cluster_peer_dial *dial);

/* Dials no more, and forgets the addresses; a link that is there stays. */
void cluster_peer_dial_end(struct cluster_peer_dial *dial);

/* Dials where it is time. Returns when it is to be called again at the latest, or HUB_NEVER. To be
 * called after links were closed. */
uint64_t cluster_peer_dial_step(struct cluster_peer_links *links, struct cluster_peer_dial *dial,
                                uint64_t now_ns);

/* The link that was dialled is about to be closed. */
void cluster_peer_dial_lost(struct cluster_peer_dial *dial, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* peer_hello: two nodes say to each other who they are. The one that has dialled says HELLO, the
 * other one HELLO_OK; a node says HELLO once more when it has its session. For the files of this
 * folder alone.
 */
#ifndef CLUSTER_NODE_PEERS_PEER_HELLO_H
#define CLUSTER_NODE_PEERS_PEER_HELLO_H

#include "cluster/node/peers/peer_link.h"

/* Says HELLO or HELLO_OK. A failure ends the link. */
int cluster_peer_hello_say(struct cluster_peer_link *link, uint8_t type);

/* Takes the HELLO or HELLO_OK by which a link comes up. Returns 0, or CLUSTER_CONNECTION_LATER
 * where the other side was refused, and told why; the link is doomed then. */
int cluster_peer_hello_take(struct cluster_peer_link *link, uint8_t type,
                            const struct cluster_body_hello *hello);

/* Takes the HELLO of a node that is linked, and has its session now. RAPAHUB_EPROTOCOL. */
int cluster_peer_hello_take_session(struct cluster_peer_link *link,
                                    const struct cluster_body_hello *hello);

#endif

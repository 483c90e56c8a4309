/* SPDX-License-Identifier: Apache-2.0 */
/* peer_frames: what comes by a link, and what goes by it under credit. For the files of this folder
 * alone.
 */
#ifndef CLUSTER_NODE_PEERS_PEER_FRAMES_H
#define CLUSTER_NODE_PEERS_PEER_FRAMES_H

#include "cluster/node/peers/peer_link.h"

/* For the connection of each link. */
extern const struct cluster_connection_hooks cluster_peer_frames_hooks;

/* Puts a frame of CALLS or STEPS, or has it wait for credit. See cluster_peer_links_send. */
int cluster_peer_frames_send(struct cluster_peer_link *link, const struct cluster_frame *header,
                             struct rapahub_bytes body);

#endif

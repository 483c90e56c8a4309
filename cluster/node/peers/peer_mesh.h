/* SPDX-License-Identifier: Apache-2.0 */
/* peer_mesh: the links of this node to all others, by what the metastore has of them. The one
 * with the higher number dials, unless only that one has an address. All dial the seat: see
 * cluster_peer_links_dial. Owner.
 */
#ifndef CLUSTER_NODE_PEERS_PEER_MESH_H
#define CLUSTER_NODE_PEERS_PEER_MESH_H

#include "cluster/node/peers/peer_links.h"
#include "cluster/wire/record.h"

/* Says which node is the seat, whose link is kept already; 0: none is, or this node is. `dials`:
 * this node dials others; all dial a seat. Before any is taken. */
void cluster_peer_mesh_begin(struct cluster_peer_links *links, uint32_t seat, bool dials);

/* Takes what the metastore has of a node, this one or another; the record is copied, NULL: there is
 * none. Links of a node that is gone, or of an earlier session than this one, end. RAPAHUB_EFULL:
 * no link to it is kept, for there are too many. */
int cluster_peer_mesh_take(struct cluster_peer_links *links, uint32_t node, uint64_t session,
                           const struct cluster_record_node *record);

/* Says whether a node with this record is none of the cluster any more. NULL: there is none. */
bool cluster_peer_mesh_is_gone(const struct cluster_record_node *record);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* seat_service: this node is the seat: it serves its metastore to the nodes that are linked to it,
 * each as far as cluster_seat_rights_of_nodes says. Owner.
 */
#ifndef CLUSTER_NODE_PEERS_SEAT_SERVICE_H
#define CLUSTER_NODE_PEERS_SEAT_SERVICE_H

#include "cluster/metastore/metastore.h"
#include "cluster/metastore/seat/seat_server.h"
#include "cluster/node/peers/peer_links.h"

struct cluster_seat_service;

/* Serves a store from here on, by these links; both live longer. -ENOMEM. */
int cluster_seat_service_create(struct cluster_metastore *store, struct cluster_peer_links *links,
                                struct cluster_seat_service **out);

/* Before the store is closed. NULL in it is ignored. */
void cluster_seat_service_release(struct cluster_seat_service **self);

/* Begins and answers what the nodes have asked for: after each step of the store and of the links.
 * Returns when it is to be called again at the latest, or HUB_NEVER. */
uint64_t cluster_seat_service_step(struct cluster_seat_service *self, uint64_t now_ns);

#endif

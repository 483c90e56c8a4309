/* SPDX-License-Identifier: Apache-2.0 */
/* seat_way: the way from a node to the seat of the metastore, by a link that it dials: for the
 * metastore that is opened as "seat:HOST:PORT" with this link and a `struct cluster_seat_way` as
 * its user. The steps of the metastore are those of all links of the node then. Owner.
 */
#ifndef CLUSTER_NODE_PEERS_SEAT_WAY_H
#define CLUSTER_NODE_PEERS_SEAT_WAY_H

#include "cluster/metastore/seat/seat_link.h"
#include "cluster/node/peers/peer_links.h"

struct cluster_seat_way {
    struct cluster_peer_links *links; /* set by its maker; they live longer */
    struct cluster_metastore *store;  /* NULL: not opened */
    uint32_t node;                    /* the seat's, while the link is up; else 0 */
    uint32_t seat;                    /* the seat's, also afterwards; 0: no link was up yet */
};

extern const struct cluster_seat_link cluster_seat_way_link;

#endif

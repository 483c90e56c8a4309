/* SPDX-License-Identifier: Apache-2.0 */
/* seat_feeds: the watches of a node at the seat. While answers wait for a node that reads slowly
 * its watches rest: the store keeps what they are to be told, up to its compaction. */
#ifndef CLUSTER_METASTORE_SEAT_FEEDS_H
#define CLUSTER_METASTORE_SEAT_FEEDS_H

#include "cluster/metastore/seat/seat_peer.h"

/* Takes a WATCH, and copies its span. A failure: the link is to be ended. */
int cluster_seat_feeds_open(struct cluster_seat_peer *peer,
                            const struct cluster_seat_request *request);

/* Ends a watch; one that is not there ended just now. */
void cluster_seat_feeds_end(struct cluster_seat_peer *peer, uint64_t number);

/* Begins, or goes on with, those that rest, if there is room. Says whether none rests any more. */
bool cluster_seat_feeds_go_on(struct cluster_seat_peer *peer);

/* Ends all. */
void cluster_seat_feeds_drop(struct cluster_seat_peer *peer);

#endif

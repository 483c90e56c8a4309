/* SPDX-License-Identifier: Apache-2.0 */
/* seat_work: what a node asked the seat for, and what has an end: transactions and reads. A
 * node's go to the store in the order in which they came. */
#ifndef CLUSTER_METASTORE_SEAT_WORK_H
#define CLUSTER_METASTORE_SEAT_WORK_H

#include "cluster/metastore/seat/seat_peer.h"

/* Takes a TXN, a RANGE, a PEEK or a SYNC; its bytes are the request's from here on, or freed. A
 * failure: the link is to be ended. */
int cluster_seat_work_take(struct cluster_seat_peer *peer,
                           const struct cluster_seat_request *request, uint8_t *data, size_t size);

/* Gives the store the next one, if that takes it, and if there will be room for its answer. Says
 * whether it did. */
bool cluster_seat_work_start(struct cluster_seat_peer *peer);

/* The node is gone. The store still ends what was started, and tells no node. */
void cluster_seat_work_drop(struct cluster_seat_peer *peer);

#endif

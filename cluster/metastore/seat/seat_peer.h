/* SPDX-License-Identifier: Apache-2.0 */
/* seat_peer: a node that the seat serves, what it has under way, and the answers that wait for it;
 * and what all of them share. For the files of the seat's server alone. */
#ifndef CLUSTER_METASTORE_SEAT_PEER_H
#define CLUSTER_METASTORE_SEAT_PEER_H

#include "cluster/metastore/seat/seat_pieces.h"
#include "cluster/metastore/seat/seat_server.h"
#include "cluster/wire/seat_message.h"
#include "hub/base/list.h"

struct cluster_seat_server {
    struct cluster_metastore *store;
    const struct cluster_seat_rights *rights;
    struct hub_list peers, busy; /* busy: for which a step has something to do */
    uint64_t peers_count;
    uint64_t txns, reads, watches; /* in the store */
    uint64_t requests, broken[CLUSTER_SEAT_SERVER_RULE_COUNT];
    bool closing;                   /* freed once the store has nothing of it */
    struct cluster_seat_txn parsed; /* the transaction that is looked at */
};

struct cluster_seat_peer {
    struct hub_list link, busy;
    struct cluster_seat_server *server;
    struct cluster_seat_node node;
    const struct cluster_seat_link *way;
    void *user;
    struct cluster_seat_pieces in;
    bool broken; /* the link is about to end: nothing is done for it */

    struct hub_list waiting, started; /* requests, see seat_work.h */
    uint64_t txns, reads;             /* in both lists */
    size_t bytes;                     /* their requests have */
    size_t expected;                  /* bytes, at most, of the answers to what was started */

    struct hub_list feeds; /* watches, see seat_feeds.h */
    uint64_t feeds_count;

    struct hub_list out;
    size_t out_bytes;
    uint64_t moved_ns; /* when the link took a piece; 0: see the next step */
};

/* The next step has something to do for it. */
void cluster_seat_peer_wake(struct cluster_seat_peer *peer);

/* It has broken a rule, in what it wrote: counts that, and returns `failure`. */
int cluster_seat_peer_broke(struct cluster_seat_peer *peer, enum cluster_seat_server_rule rule,
                            int failure);

/* Ends the link of itself. */
void cluster_seat_peer_hang_up(struct cluster_seat_peer *peer);

/* Add an answer to those that wait. Without memory the link ends, so that none is missed. */
void cluster_seat_peer_reply(struct cluster_seat_peer *peer,
                             const struct cluster_seat_reply *reply);
void cluster_seat_peer_event(struct cluster_seat_peer *peer,
                             const struct cluster_seat_event *event);

/* Sends what waits, as far as the link has room. Returns when the link must have taken some more,
 * or HUB_NEVER; it ends if that time has come. */
uint64_t cluster_seat_peer_send(struct cluster_seat_peer *peer, uint64_t now_ns);

/* Forgets what waits to be sent. */
void cluster_seat_peer_drop(struct cluster_seat_peer *peer);

#endif

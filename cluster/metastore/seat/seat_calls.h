/* SPDX-License-Identifier: Apache-2.0 */
/* seat_calls: what a node has asked the seat for, from the request to its end. A call waits until
 * the link takes it, then for its reply, then to be told.
 *
 * The seat lets a node have only so much under way, see seat_server.h, and counts until it has
 * replied; a call whose caller was told of a deadline is counted on until then. */
#ifndef CLUSTER_METASTORE_SEAT_CALLS_H
#define CLUSTER_METASTORE_SEAT_CALLS_H

#include "cluster/metastore/metastore.h"
#include "cluster/metastore/seat/seat_link.h"
#include "cluster/wire/seat_message.h"
#include "hub/base/list.h"

struct cluster_seat_call {
    struct hub_list link;
    uint8_t kind; /* enum cluster_seat_kind */
    bool told;    /* its callback was called: the reply is of no use any more */
    uint64_t number;
    uint64_t deadline_ns; /* 0: the next step gives it one */
    uint32_t gets[2]; /* TXN: gets of the list that runs if the compares hold, and of the other */
    size_t sent;      /* bytes of the message */

    int status; /* its end */
    bool more;
    uint64_t rev;
    uint8_t *reply; /* that the pairs are views of */
    struct cluster_pair *pairs;
    size_t pairs_count;

    cluster_on_txn *on_txn; /* its kind says which of these it has */
    cluster_on_range *on_range;
    cluster_on_stale *on_stale;
    void *user;

    size_t size;
    uint8_t message[];
};

struct cluster_seat_calls {
    struct hub_list waiting, sent, ended;
    uint64_t last;                  /* number of a call */
    uint64_t txns, reads;           /* whose end was not told */
    uint64_t sent_txns, sent_reads; /* that the seat counts */
    size_t sent_bytes;
    uint64_t told_txns;
    uint64_t revision; /* the highest one in a reply */
};

void cluster_seat_calls_init(struct cluster_seat_calls *calls);

/* Makes a call of a request, whose number is set here if it is 0; `txn` as in seat_message.h. The
 * caller fills in the callback. NULL, with a diagnosis: no memory, or the request is too large;
 * *failure has the code. */
struct cluster_seat_call *cluster_seat_calls_make(struct cluster_seat_calls *calls,
                                                  struct cluster_seat_request request,
                                                  const struct cluster_txn *txn, int *failure);
void cluster_seat_calls_free(struct cluster_seat_call *call);

void cluster_seat_calls_add(struct cluster_seat_calls *calls, struct cluster_seat_call *call);

/* Adds a call that is not sent, and ends with CLUSTER_TXN_DENIED. */
void cluster_seat_calls_deny(struct cluster_seat_calls *calls, struct cluster_seat_call *call);

/* Takes back a WATCH that still waits. Says whether it did. */
bool cluster_seat_calls_withdraw(struct cluster_seat_calls *calls, uint64_t watch);

/* Sends what waits, as far as the link has room and the seat takes more. A failure is that of the
 * link. */
int cluster_seat_calls_send(struct cluster_seat_calls *calls, const struct cluster_seat_link *link,
                            void *user);

/* A reply has come; its bytes are the call's from here on, or freed. RAPAHUB_EFORMAT,
 * RAPAHUB_EPROTOCOL: it can be no reply to what was asked; -ENOMEM. */
int cluster_seat_calls_reply(struct cluster_seat_calls *calls, uint8_t *data, size_t size);

/* The link is down. A transaction that was sent ends with CLUSTER_TXN_UNKNOWN; all else goes by the
 * next link, but requests for watches. */
void cluster_seat_calls_link_down(struct cluster_seat_calls *calls);

/* Ends what has waited too long. Returns whether one of them was sent only in part: then nothing
 * more can go by this link. */
bool cluster_seat_calls_expire(struct cluster_seat_calls *calls, uint64_t now_ns);

/* Gives each call its deadline that has none. Returns the first of all, or HUB_NEVER. */
uint64_t cluster_seat_calls_due(struct cluster_seat_calls *calls, uint64_t now_ns);

/* Calls the callbacks of those that have ended. */
void cluster_seat_calls_tell(struct cluster_seat_calls *calls);

/* Ends all with CLUSTER_TXN_CLOSED. */
void cluster_seat_calls_close(struct cluster_seat_calls *calls);

#endif

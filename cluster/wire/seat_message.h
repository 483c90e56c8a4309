/* SPDX-License-Identifier: Apache-2.0 */
/* seat_message: what a node and the seat of the metastore say to each other: requests to the seat,
 * its replies, and events of watches. Each is the bytes of one message, which travels in pieces,
 * see body.h. All that was read are views of the bytes that were read.
 */
#ifndef CLUSTER_WIRE_SEAT_MESSAGE_H
#define CLUSTER_WIRE_SEAT_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/txn.h"
#include "cluster/wire/format.h"

#define CLUSTER_SEAT_WATCHES_MAX 16                /* that a node has open */
#define CLUSTER_SEAT_PAIRS_MAX   1024              /* in a reply */
#define CLUSTER_SEAT_PAGE_MAX    ((size_t)1 << 20) /* bytes of keys and values in a page */
#define CLUSTER_SEAT_REQUEST_MAX ((size_t)4 << 20) /* bytes of a request */

/* Bytes of a key, a value and the numbers with them, at most; and of a reply or an event. */
#define CLUSTER_SEAT_PAIR_MAX ((size_t)CLUSTER_TXN_KEY_MAX + CLUSTER_TXN_VALUE_MAX + 64)
#define CLUSTER_SEAT_ANSWER_MAX \
    (CLUSTER_TXN_LIST_MAX * CLUSTER_SEAT_PAIR_MAX + CLUSTER_SEAT_PAGE_MAX)

enum cluster_seat_kind {
    CLUSTER_SEAT_TXN = 1,
    CLUSTER_SEAT_RANGE,
    CLUSTER_SEAT_PEEK,
    CLUSTER_SEAT_SYNC,
    CLUSTER_SEAT_WATCH,   /* its answers are events */
    CLUSTER_SEAT_UNWATCH, /* it has none */
    CLUSTER_SEAT_KINDS
};

/* Members that its kind does not have are 0. */
struct cluster_seat_request {
    uint8_t kind;
    uint64_t number;               /* its reply has it; of WATCH and UNWATCH the watch's; not 0 */
    uint64_t client, seq;          /* TXN: its id */
    struct rapahub_bytes from, to; /* RANGE, PEEK, WATCH: the span */
    uint64_t rev;                  /* RANGE, WATCH */
    uint32_t pairs_max;            /* RANGE, PEEK */
    struct cluster_list compares, then, otherwise; /* TXN */
};

struct cluster_seat_reply {
    uint64_t number;
    uint8_t status; /* enum cluster_txn_status */
    uint64_t rev;
    bool more;                 /* RANGE */
    struct cluster_list pairs; /* struct cluster_pair */
};

/* The changes of one revision; or, without any, a mark or the end of the watch. */
struct cluster_seat_event {
    uint64_t watch;
    uint8_t status;
    uint64_t rev;
    struct cluster_list changes; /* struct cluster_change */
};

/* A transaction with its lists. */
struct cluster_seat_txn {
    struct cluster_txn txn;
    struct cluster_compare compares[CLUSTER_TXN_LIST_MAX];
    struct cluster_write then[CLUSTER_TXN_LIST_MAX], otherwise[CLUSTER_TXN_LIST_MAX];
};

/* Write a message, or only count its bytes, with the results of cluster_format_put. The lists of a
 * request are those of `txn`, which its other kinds do not have. */
int cluster_seat_message_put_request(struct hub_writer *writer,
                                     const struct cluster_seat_request *request,
                                     const struct cluster_txn *txn);
int cluster_seat_message_put_reply(struct hub_writer *writer,
                                   const struct cluster_seat_reply *reply);
int cluster_seat_message_put_event(struct hub_writer *writer,
                                   const struct cluster_seat_event *event);

/* Read the whole of a message, with the results of cluster_format_read. */
int cluster_seat_message_read_request(struct rapahub_bytes from, struct cluster_seat_request *out);
int cluster_seat_message_read_reply(struct rapahub_bytes from, struct cluster_seat_reply *out);
int cluster_seat_message_read_event(struct rapahub_bytes from, struct cluster_seat_event *out);

/* Takes the transaction of a TXN that was read. It is not checked: see cluster_txn_check. */
void cluster_seat_message_take_txn(const struct cluster_seat_request *request,
                                   struct cluster_seat_txn *out);

bool cluster_seat_message_next_pair(struct cluster_list *list, struct cluster_pair *out);
bool cluster_seat_message_next_change(struct cluster_list *list, struct cluster_change *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* seat_watches: the watches that a node has at the seat. A watch lives longer than a link: each new
 * link is asked for what comes after the last revision that was heard of it. */
#ifndef CLUSTER_METASTORE_SEAT_WATCHES_H
#define CLUSTER_METASTORE_SEAT_WATCHES_H

#include "cluster/metastore/seat/seat_calls.h"

struct cluster_seat_watches {
    struct cluster_seat_calls *calls; /* requests go among these */
    struct hub_list watches, events;  /* events: heard, and not told */
    uint64_t count, last;             /* number of a watch */
    size_t events_bytes;
    uint64_t revision; /* the highest one in an event */
};

void cluster_seat_watches_init(struct cluster_seat_watches *watches,
                               struct cluster_seat_calls *calls);

/* Adds a watch; RAPAHUB_EBUSY, -ENOMEM. */
int cluster_seat_watches_open(struct cluster_seat_watches *watches, const struct cluster_span *span,
                              cluster_on_change *on_change, void *user, uint64_t *out);
void cluster_seat_watches_end(struct cluster_seat_watches *watches, uint64_t number);

/* Asks for each that this link was not asked for. Without memory the next call does it. */
void cluster_seat_watches_ask(struct cluster_seat_watches *watches);
void cluster_seat_watches_link_down(struct cluster_seat_watches *watches);

/* An event has come; its bytes are freed here, or later. RAPAHUB_EFORMAT, RAPAHUB_EPROTOCOL: it can
 * be none; RAPAHUB_EFULL: too many wait to be told; -ENOMEM. */
int cluster_seat_watches_event(struct cluster_seat_watches *watches, uint8_t *data, size_t size);

/* Calls the callbacks. */
void cluster_seat_watches_tell(struct cluster_seat_watches *watches);

/* Ends all with CLUSTER_TXN_CLOSED. */
void cluster_seat_watches_close(struct cluster_seat_watches *watches);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* seat_pieces: messages in pieces, on their way out and in. */
#ifndef CLUSTER_METASTORE_SEAT_PIECES_H
#define CLUSTER_METASTORE_SEAT_PIECES_H

#include <stddef.h>

#include "cluster/metastore/seat/seat_link.h"

/* A message that comes. Zero, but for `most`, is the beginning. */
struct cluster_seat_pieces {
    size_t most; /* bytes that a message may have */
    uint8_t type;
    uint8_t *data; /* NULL: none has begun */
    size_t size, capacity;
};

/* Puts what is left of a message, from *sent on, as far as the link has room. Returns 0 once all of
 * it is put, 1 while some is left, or the failure of the link. */
int cluster_seat_pieces_send(const struct cluster_seat_link *link, void *user, uint8_t type,
                             struct rapahub_bytes message, size_t *sent);

/* Takes a copy of a piece. Returns 0 and the whole message, to be freed by free(); 1: more is to
 * come. RAPAHUB_EPROTOCOL: it does not continue what has begun, or the message is too large;
 * -ENOMEM. */
int cluster_seat_pieces_take(struct cluster_seat_pieces *pieces, uint8_t type,
                             const struct cluster_body_piece *piece, uint8_t **out_data,
                             size_t *out_size);

/* Forgets a message that has begun. */
void cluster_seat_pieces_drop(struct cluster_seat_pieces *pieces);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_pieces.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

int cluster_seat_pieces_send(const struct cluster_seat_link *link, void *user, uint8_t type,
                             struct rapahub_bytes message, size_t *sent)
{
    while (*sent < message.size) {
        size_t left = message.size - *sent;
        bool more = left > CLUSTER_BODY_PIECE_MAX;
        const struct cluster_body body = {.piece = {more,
                                                    {(const uint8_t *)message.data + *sent,
                                                     more ? CLUSTER_BODY_PIECE_MAX : left}}};
        int r;

        if (!link->has_room(user))
            return 1;
        r = link->put(user, type, &body);
        if (r < 0)
            return r;
        *sent += body.piece.bytes.size;
    }
    return 0;
}

/* Memory grows with what has come, not with what is said to come. */
static int reserve(struct cluster_seat_pieces *pieces, size_t size)
{
    size_t capacity = pieces->data ? 2 * pieces->capacity : size;
    uint8_t *data;

    if (size <= pieces->capacity && pieces->data)
        return 0;
    if (capacity < size)
        capacity = size;
    data = realloc(pieces->data, capacity);
    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a message of the metastore: out of memory");
    pieces->data = data;
    pieces->capacity = capacity;
    return 0;
}

/* r[impl cluster.store.seat.message] */
int cluster_seat_pieces_take(struct cluster_seat_pieces *pieces, uint8_t type,
                             const struct cluster_body_piece *piece, uint8_t **out_data,
                             size_t *out_size)
{
    size_t size = pieces->size + piece->bytes.size;
    int r;

    if (pieces->data && pieces->type != type)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.message",
                            "a message of the metastore begins before another one has ended");
    if (size > pieces->most)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.message",
                            "a message of the metastore has more than %zu bytes", pieces->most);
    r = reserve(pieces, size);
    if (r < 0)
        return r;
    memcpy(pieces->data + pieces->size, piece->bytes.data, piece->bytes.size);
    pieces->size = size;
    pieces->type = type;
    if (piece->more)
        return 1;
    *out_data = pieces->data;
    *out_size = pieces->size;
    pieces->data = NULL;
    cluster_seat_pieces_drop(pieces);
    return 0;
}

void cluster_seat_pieces_drop(struct cluster_seat_pieces *pieces)
{
    free(pieces->data);
    pieces->data = NULL;
    pieces->size = pieces->capacity = 0;
}

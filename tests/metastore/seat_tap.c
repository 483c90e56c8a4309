/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/seat_tap.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/testing.h"

static bool has_room(const void *user)
{
    return ((const struct seat_tap *)user)->room > 0;
}

static int put(void *user, uint8_t type, const struct cluster_body *body)
{
    struct seat_tap *tap = user;
    struct seat_tap_message *message = &tap->messages[tap->count];
    int r;

    assert_true(tap->room > 0);
    assert_true(tap->count < SEAT_TAP_MAX);
    tap->room--;
    tap->pieces++;
    r = cluster_seat_pieces_take(&tap->in, type, &body->piece, &message->data, &message->size);
    assert_true(r >= 0);
    message->type = type;
    tap->count += r == 0;
    return 0;
}

static void hang_up(void *user)
{
    ((struct seat_tap *)user)->hang_ups++;
}

static int fd_of(const void *user)
{
    (void)user;
    return -1;
}

const struct cluster_seat_link seat_tap_link = {
    .has_room = has_room, .put = put, .hang_up = hang_up, .fd = fd_of};

void seat_tap_init(struct seat_tap *tap)
{
    *tap = (struct seat_tap){.room = SIZE_MAX, .in.most = CLUSTER_SEAT_ANSWER_MAX};
}

void seat_tap_clear(struct seat_tap *tap)
{
    while (tap->count > 0)
        free(tap->messages[--tap->count].data);
    cluster_seat_pieces_drop(&tap->in);
}

static struct rapahub_bytes bytes_of(const struct seat_tap *tap, size_t index, uint8_t type)
{
    assert_true(index < tap->count);
    assert_int_equal(tap->messages[index].type, type);
    return (struct rapahub_bytes){tap->messages[index].data, tap->messages[index].size};
}

struct cluster_seat_request seat_tap_request(const struct seat_tap *tap, size_t index)
{
    struct cluster_seat_request request;

    assert_int_equal(cluster_seat_message_read_request(
                         bytes_of(tap, index, CLUSTER_FRAME_STORE_REQUEST), &request),
                     0);
    return request;
}

struct cluster_seat_reply seat_tap_reply(const struct seat_tap *tap, size_t index)
{
    struct cluster_seat_reply reply;

    assert_int_equal(
        cluster_seat_message_read_reply(bytes_of(tap, index, CLUSTER_FRAME_STORE_REPLY), &reply),
        0);
    return reply;
}

struct cluster_seat_event seat_tap_event(const struct seat_tap *tap, size_t index)
{
    struct cluster_seat_event event;

    assert_int_equal(
        cluster_seat_message_read_event(bytes_of(tap, index, CLUSTER_FRAME_STORE_EVENT), &event),
        0);
    return event;
}

/* Pieces are where nothing comes after them, so that a reader that goes further is found out. */
int seat_tap_send(seat_tap_take *take, void *to, uint8_t type, struct rapahub_bytes message)
{
    int r = 0;

    for (size_t at = 0; at < message.size && r == 0;) {
        size_t left = message.size - at,
               size = left < CLUSTER_BODY_PIECE_MAX ? left : CLUSTER_BODY_PIECE_MAX;
        uint8_t *copy = malloc(size);
        const struct cluster_body body = {.piece = {left > size, {copy, size}}};

        memcpy(copy, (const uint8_t *)message.data + at, size);
        r = take(to, type, &body);
        free(copy);
        at += size;
    }
    return r;
}

struct made {
    uint8_t *data;
    size_t size;
};

typedef int put_message(struct hub_writer *writer, const void *message, const void *more);

static struct made make(put_message *put_it, const void *message, const void *more)
{
    struct hub_writer writer;
    struct made made;

    hub_writer_count(&writer);
    assert_int_equal(put_it(&writer, message, more), 0);
    made = (struct made){malloc(writer.size), writer.size};
    hub_writer_init(&writer, made.data, made.size);
    assert_int_equal(put_it(&writer, message, more), 0);
    return made;
}

static int send_made(seat_tap_take *take, void *to, uint8_t type, struct made made)
{
    int r = seat_tap_send(take, to, type, (struct rapahub_bytes){made.data, made.size});

    free(made.data);
    return r;
}

static int put_request(struct hub_writer *writer, const void *message, const void *more)
{
    return cluster_seat_message_put_request(writer, message, more);
}

static int put_reply(struct hub_writer *writer, const void *message, const void *more)
{
    (void)more;
    return cluster_seat_message_put_reply(writer, message);
}

static int put_event(struct hub_writer *writer, const void *message, const void *more)
{
    (void)more;
    return cluster_seat_message_put_event(writer, message);
}

int seat_tap_send_request(seat_tap_take *take, void *to, const struct cluster_seat_request *request,
                          const struct cluster_txn *txn)
{
    return send_made(take, to, CLUSTER_FRAME_STORE_REQUEST, make(put_request, request, txn));
}

int seat_tap_send_reply(seat_tap_take *take, void *to, const struct cluster_seat_reply *reply)
{
    return send_made(take, to, CLUSTER_FRAME_STORE_REPLY, make(put_reply, reply, NULL));
}

int seat_tap_send_event(seat_tap_take *take, void *to, const struct cluster_seat_event *event)
{
    return send_made(take, to, CLUSTER_FRAME_STORE_EVENT, make(put_event, event, NULL));
}

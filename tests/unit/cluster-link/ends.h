/* SPDX-License-Identifier: Apache-2.0 */
/* ends: two ends of a socket. Each is a connection that notes what comes, or the bare socket. Both
 * live on one thread: what is sent comes with the next dispatch. */
#ifndef TESTS_UNIT_CLUSTER_LINK_ENDS_H
#define TESTS_UNIT_CLUSTER_LINK_ENDS_H

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/link/connection.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define ENDS __attribute__((unused)) static

#define ENDS_BODY_MAX ((size_t)20 << 20)

struct end {
    struct cluster_connection *connection;
    uint32_t frames, credits;
    int answer; /* of the hook, for the next `answers` frames */
    unsigned answers;
    struct cluster_frame frame; /* the last one */
    struct cluster_body body;   /* only numbers: its views have ended */
    uint64_t size, sum;         /* of the arguments of the last CALL */
};

struct ends {
    struct hub_closer *closer;
    struct end one, other;
    int raw; /* the other end, where it is no connection; else -1 */
    bool descriptors;
    uint64_t silent_ns;
};

static uint64_t sum_of(struct rapahub_bytes bytes)
{
    const uint8_t *at = bytes.data;
    uint64_t sum = bytes.size;

    for (size_t i = 0; i < bytes.size; i++)
        sum = sum * 31 + at[i];
    return sum;
}

static int note_frame(void *user, const struct cluster_frame *frame,
                      const struct cluster_body *body)
{
    struct end *end = user;

    if (end->answers > 0) {
        end->answers--;
        return end->answer < 0 ? rapahub_fail(end->answer, "", "the hook says no") : end->answer;
    }
    end->frames++;
    end->frame = *frame;
    end->body = *body;
    end->size = end->sum = 0;
    if (frame->type == CLUSTER_FRAME_CALL) {
        end->size = body->call.arguments.size;
        end->sum = sum_of(body->call.arguments);
    }
    return 0;
}

static void note_credit(void *user)
{
    ((struct end *)user)->credits++;
}

static const struct cluster_connection_hooks note_hooks = {note_frame, note_credit};

ENDS void open_end(struct ends *ends, struct end *end, int fd, struct hub_budget *budget)
{
    const struct cluster_connection_options options = {.body_max = ENDS_BODY_MAX,
                                                       .ping_ns = HUB_SECOND,
                                                       .silent_ns = ends->silent_ns,
                                                       .budget = budget,
                                                       .closer = ends->closer,
                                                       .descriptors = ends->descriptors};

    assert_int_equal(cluster_connection_create(fd, &options, &note_hooks, end, &end->connection),
                     0);
}

ENDS void open_both(struct ends *ends, bool raw)
{
    int fds[2];

    assert_int_equal(hub_closer_create(&ends->closer), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    open_end(ends, &ends->one, fds[0], NULL);
    if (raw)
        ends->raw = fds[1];
    else
        open_end(ends, &ends->other, fds[1], NULL);
}

ENDS void open_ends(struct ends *ends, bool raw)
{
    *ends = (struct ends){.raw = -1};
    open_both(ends, raw);
}

/* Both are connections, which take descriptors or do not. */
ENDS void open_ends_with(struct ends *ends, bool descriptors)
{
    *ends = (struct ends){.raw = -1, .descriptors = descriptors};
    open_both(ends, false);
}

ENDS void close_ends(struct ends *ends)
{
    cluster_connection_release(&ends->one.connection);
    cluster_connection_release(&ends->other.connection);
    if (ends->raw >= 0)
        close(ends->raw);
    hub_closer_release(&ends->closer);
}

ENDS int dispatch(struct end *end)
{
    return cluster_connection_dispatch(end->connection, hub_clock_now());
}

/* Both read what the other one has written, until nothing moves any more. */
ENDS void settle(struct ends *ends)
{
    for (unsigned i = 0; i < 400; i++) {
        assert_int_equal(dispatch(&ends->one), 0);
        assert_int_equal(dispatch(&ends->other), 0);
    }
}

ENDS const struct cluster_frame call_frame = {.type = CLUSTER_FRAME_CALL,
                                              .ttl = CLUSTER_FRAME_TTL,
                                              .uid = {UINT64_C(1) << 63 | 7, 9},
                                              .pool = UINT64_C(256) << 32,
                                              .container = 3};

ENDS uint8_t *bytes_of(size_t size, uint64_t seed)
{
    uint8_t *bytes = malloc(size + 1);
    struct hub_random random;

    assert_non_null(bytes);
    hub_random_init(&random, seed);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)hub_random_next(&random);
    return bytes;
}

/* Puts a call with so many bytes of arguments. */
ENDS int put_call(struct end *end, uint8_t *bytes, size_t size)
{
    const struct cluster_body body = {
        .call = {.left_us = 1, .method_id = 5, .arguments = {bytes, size}}};

    return cluster_connection_put(end->connection, &call_frame, &body);
}

/* Writes a frame as it is on the wire. Returns its size. */
ENDS size_t write_frame(uint8_t *to, size_t room, struct cluster_frame frame,
                        const struct cluster_body *body)
{
    struct hub_writer writer;

    hub_writer_init(&writer, to + CLUSTER_FRAME_SIZE, room - CLUSTER_FRAME_SIZE);
    assert_int_equal(cluster_body_put(&writer, frame.type, body), 0);
    frame.body_size = (uint32_t)writer.size;
    cluster_frame_write(&frame, to);
    return CLUSTER_FRAME_SIZE + writer.size;
}

/* Sends bytes from the bare end; all of them fit into the socket. */
ENDS void send_raw(const struct ends *ends, const void *bytes, size_t size)
{
    assert_int_equal(send(ends->raw, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

#endif

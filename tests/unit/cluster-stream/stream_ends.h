/* SPDX-License-Identifier: Apache-2.0 */
/* stream_ends: a call with streams, as the two sides of a connection have it: one calls, and the
 * other is called. Both are on one thread, which reads and writes only what does not wait. */
#ifndef TESTS_UNIT_CLUSTER_STREAM_STREAM_ENDS_H
#define TESTS_UNIT_CLUSTER_STREAM_STREAM_ENDS_H

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "cluster/stream/streams.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define ENDS       __attribute__((unused)) static
#define WINDOW     CLUSTER_STREAM_WINDOW
#define CALL       9
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

struct side {
    struct cluster_connection *connection;
    struct cluster_streams streams;
    struct cluster_call_streams *call;
    struct cluster_bell *bell;
    int failed; /* what ended the connection */
};

struct ends {
    struct hub_closer *closer;
    struct side caller, called;
};

static const struct cluster_frame call_frame = {.type = CLUSTER_FRAME_CALL,
                                                .ttl = CLUSTER_FRAME_TTL,
                                                .uid = {UINT64_C(1) << 63 | 7, CALL},
                                                .pool = UINT64_C(256) << 32};

ENDS int take(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct side *side = user;
    struct cluster_call_streams *of;

    return frame->type == CLUSTER_FRAME_BULK_OPEN
               ? cluster_streams_opened(&side->streams, frame, &body->bulk_open)
               : cluster_streams_take(&side->streams, frame, body, &of);
}

ENDS void no_credit(void *user)
{
    (void)user;
}

static const struct cluster_connection_hooks hooks = {take, no_credit};

ENDS void open_side(struct ends *ends, struct side *side, int fd)
{
    const struct cluster_connection_options options = {
        .body_max = 1 << 20, .closer = ends->closer, .streams = true};

    assert_int_equal(cluster_connection_create(fd, &options, &hooks, side, &side->connection), 0);
    assert_int_equal(cluster_bell_create(16, &side->bell), 0);
    cluster_streams_init(&side->streams);
}

ENDS int set_up(void **state)
{
    struct ends *ends = calloc(1, sizeof *ends);
    int fds[2];

    assert_non_null(ends);
    assert_int_equal(hub_closer_create(&ends->closer), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    open_side(ends, &ends->caller, fds[0]);
    open_side(ends, &ends->called, fds[1]);
    *state = ends;
    return 0;
}

ENDS void close_side(struct side *side)
{
    cluster_streams_lose(&side->streams);
    cluster_call_streams_drop(&side->call);
    cluster_connection_release(&side->connection);
    cluster_bell_drop(&side->bell);
}

ENDS int tear_down(void **state)
{
    struct ends *ends = *state;

    close_side(&ends->caller);
    close_side(&ends->called);
    hub_closer_release(&ends->closer);
    free(ends);
    return 0;
}

ENDS void make(struct side *side, uint32_t come, uint32_t go)
{
    const struct cluster_call_streams_order order = {
        .call = CALL, .patience_ns = HUB_SECOND, .come = come, .go = go, .bell = side->bell};

    assert_int_equal(cluster_call_streams_make(&order, &side->call), 0);
    cluster_streams_add(&side->streams, cluster_call_streams_hold(side->call));
}

/* A call with these streams, which are opened. Its caller takes what the method writes at once. */
ENDS void begin(struct ends *ends, uint32_t sources, uint32_t sinks)
{
    make(&ends->caller, sinks, sources);
    make(&ends->called, sources, sinks);
    for (uint32_t i = 0; i < ends->caller.call->count; i++)
        if (ends->caller.call->all[i].comes)
            cluster_stream_want(ends->caller.call->all[i].stream);
    assert_int_equal(cluster_streams_open(&ends->caller.streams, ends->caller.call,
                                          ends->caller.connection, &call_frame),
                     0);
}

ENDS void turn(struct side *side)
{
    if (side->failed < 0)
        return;
    side->failed = cluster_connection_dispatch(side->connection, hub_clock_now());
    if (side->failed == 0)
        side->failed = cluster_streams_send(&side->streams, side->connection);
}

/* Until nothing moves any more. */
ENDS void settle(struct ends *ends)
{
    for (unsigned i = 0; i < 200; i++) {
        turn(&ends->caller);
        turn(&ends->called);
    }
}

ENDS void put(struct side *side, struct cluster_frame frame, const struct cluster_body *body)
{
    assert_int_equal(cluster_connection_put(side->connection, &frame, body), 0);
}

ENDS void put_data(struct side *side, uint32_t stream, size_t size)
{
    memset(cluster_connection_put_data(side->connection, stream, size), 'x', size);
}

/* The method begins to read a source: the first bytes come after that. */
ENDS void want(struct ends *ends, uint32_t index)
{
    cluster_stream_want(ends->called.call->all[index].stream);
}

ENDS struct rapahub_source *source_of(struct side *side, uint32_t index)
{
    return side->call->ends[index].source;
}

ENDS struct rapahub_sink *sink_of(struct side *side, uint32_t index)
{
    return side->call->ends[index].sink;
}

#endif

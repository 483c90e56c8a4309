/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/stream/call_streams.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

#define PIECE (64u * 1024) /* bytes of a frame */
#define WAIT_MOST                                                                   \
    (512u * 1024) /* with so many bytes in its queue a connection gets no more data \
                   */

/* ---- made and dropped ---- */

static int make(struct cluster_call_streams *streams,
                const struct cluster_call_streams_order *order)
{
    uint32_t all = order->come | order->go;

    for (; streams->count < CLUSTER_BODY_STREAMS_MAX && all >> streams->count != 0;
         streams->count++) {
        struct cluster_call_stream *one = &streams->all[streams->count];

        one->comes = (order->come >> streams->count & 1) != 0;
        one->stream = cluster_stream_make(one->comes, order->bell, &streams->moved_ns);
        if (!one->stream)
            return RAPAHUB_ENOMEM;
        cluster_credit_init(&one->credit, CLUSTER_STREAM_WINDOW);
        cluster_credit_withhold(&one->credit);
        streams->ends[streams->count] = cluster_stream_end(one->stream);
    }
    return 0;
}

static uint32_t count_of(uint32_t bits)
{
    return (uint32_t)__builtin_popcount(bits);
}

/* r[impl cluster.stream.bounds] */
static int reserve(const struct cluster_call_streams_order *order, uint32_t count)
{
    if (!cluster_bell_count(order->bell, count))
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.stream.bounds",
                            "as many streams of calls are open as may be");
    if (!order->budget || hub_budget_take(order->budget, count * (size_t)CLUSTER_STREAM_WINDOW))
        return 0;
    cluster_bell_uncount(order->bell, count);
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.stream.bounds",
                        "there is no memory left of this user's for the streams of a call");
}

int cluster_call_streams_make(const struct cluster_call_streams_order *order,
                              struct cluster_call_streams **out)
{
    uint32_t count = count_of(order->come | order->go);
    struct cluster_call_streams *streams = calloc(1, sizeof *streams);
    int r = streams ? reserve(order, count)
                    : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the streams of a call");

    if (r < 0) {
        free(streams);
        return r;
    }
    hub_list_init(&streams->link);
    hub_store_relaxed(&streams->holders, 1);
    hub_store_relaxed64(&streams->moved_ns, hub_clock_now());
    streams->call = order->call;
    streams->patience_ns = order->patience_ns;
    streams->bell = cluster_bell_hold(order->bell);
    streams->budget = order->budget ? hub_budget_hold(order->budget) : NULL;
    r = make(streams, order);
    if (r < 0) {
        cluster_bell_uncount(streams->bell, count - streams->count); /* some were not made */
        if (streams->budget)
            hub_budget_give(streams->budget,
                            (count - streams->count) * (size_t)CLUSTER_STREAM_WINDOW);
        cluster_call_streams_drop(&streams);
    }
    *out = streams;
    return r;
}

struct cluster_call_streams *cluster_call_streams_hold(struct cluster_call_streams *streams)
{
    hub_add(&streams->holders, 1);
    return streams;
}

void cluster_call_streams_drop(struct cluster_call_streams **pointer)
{
    struct cluster_call_streams *streams = *pointer;

    *pointer = NULL;
    if (!streams || hub_add(&streams->holders, UINT32_MAX) != 1)
        return;
    for (uint32_t i = 0; i < streams->count; i++)
        cluster_stream_release(&streams->all[i].stream);
    if (streams->budget)
        hub_budget_give(streams->budget, streams->count * (size_t)CLUSTER_STREAM_WINDOW);
    hub_budget_drop(&streams->budget);
    cluster_bell_uncount(streams->bell, streams->count);
    cluster_bell_drop(&streams->bell);
    free(streams);
}

/* ---- all of a call ---- */

bool cluster_call_streams_are_over(const struct cluster_call_streams *streams)
{
    for (uint32_t i = 0; i < streams->count; i++)
        if (!streams->all[i].over)
            return false;
    return true;
}

void cluster_call_streams_break(struct cluster_call_streams *streams)
{
    for (uint32_t i = 0; i < streams->count; i++)
        cluster_stream_break(streams->all[i].stream);
}

/* ---- frames that come ---- */

static int refuse(const struct cluster_frame *frame, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.stream.frame", "a %s %s",
                        cluster_frame_name(frame->type), why);
}

/* r[impl cluster.stream.credit] */
static int take_data(struct cluster_call_stream *stream, const struct cluster_frame *frame,
                     struct rapahub_bytes data)
{
    int r = cluster_credit_take(&stream->credit, data.size);

    if (r < 0)
        return r;
    return data.size > 0 && cluster_stream_put(stream->stream, data)
               ? 0
               : refuse(frame, "has no bytes, or more than its stream holds");
}

static int take_credit(struct cluster_call_stream *stream, const struct cluster_frame *frame,
                       const struct cluster_body_credit *credit)
{
    return credit->kind == CLUSTER_CREDIT_BULK ? cluster_credit_gain(&stream->credit, credit->bytes)
                                               : refuse(frame, "is none of a stream");
}

/* r[impl cluster.stream.frame] */
int cluster_call_streams_take(struct cluster_call_stream *stream, const struct cluster_frame *frame,
                              const struct cluster_body *body)
{
    bool of_writer =
        frame->type == CLUSTER_FRAME_BULK_DATA || frame->type == CLUSTER_FRAME_BULK_DONE;

    if (frame->type != CLUSTER_FRAME_BULK_RESET && stream->comes != of_writer)
        return refuse(frame, "goes against its stream");
    switch (frame->type) {
    case CLUSTER_FRAME_BULK_DATA:
        return take_data(stream, frame, body->data);
    case CLUSTER_FRAME_CREDIT:
        return take_credit(stream, frame, &body->credit);
    case CLUSTER_FRAME_BULK_DONE:
        cluster_stream_finish(stream->stream);
        break;
    default:
        if (stream->comes)
            cluster_stream_break(stream->stream);
        else
            cluster_stream_leave(stream->stream);
        break;
    }
    stream->over = true;
    return 0;
}

/* ---- frames that go ---- */

static int put(struct cluster_connection *connection, const struct cluster_call_stream *stream,
               uint8_t type, const struct cluster_body *body)
{
    const struct cluster_frame frame = {.type = type, .stream = stream->number};

    return cluster_connection_put(connection, &frame, body);
}

/* The last frame of a stream. */
static int put_last(struct cluster_connection *connection, struct cluster_call_stream *stream,
                    uint8_t type)
{
    const struct cluster_body reset = {.bulk_reset = {RAPAHUB_ERESET}}, none = {0};

    stream->over = true;
    return put(connection, stream, type, type == CLUSTER_FRAME_BULK_RESET ? &reset : &none);
}

static int send_data(struct cluster_connection *connection, struct cluster_call_stream *stream,
                     size_t waiting)
{
    uint64_t left = stream->credit.left > 0 ? (uint64_t)stream->credit.left : 0;
    size_t size = waiting < PIECE ? waiting : PIECE;
    uint8_t *to;

    if (size > left)
        size = (size_t)left;
    if (size == 0 || cluster_connection_waiting(connection) > WAIT_MOST)
        return 0;
    to = cluster_connection_put_data(connection, stream->number, size);
    if (!to)
        return RAPAHUB_ENOMEM;
    cluster_stream_take(stream->stream, to, size);
    cluster_credit_sent(&stream->credit, size);
    return 1;
}

static int send_going(struct cluster_connection *connection, struct cluster_call_stream *stream)
{
    enum cluster_stream_state state;
    size_t waiting = cluster_stream_waiting(stream->stream, &state);

    if (state == CLUSTER_STREAM_BROKEN)
        return put_last(connection, stream, CLUSTER_FRAME_BULK_RESET);
    if (state == CLUSTER_STREAM_WHOLE && waiting == 0)
        return put_last(connection, stream, CLUSTER_FRAME_BULK_DONE);
    return send_data(connection, stream, waiting);
}

/* r[impl cluster.stream.credit] */
static int send_coming(struct cluster_connection *connection, struct cluster_call_stream *stream)
{
    uint32_t back;

    if (cluster_stream_is_left(stream->stream))
        return put_last(connection, stream, CLUSTER_FRAME_BULK_RESET);
    back = cluster_credit_consume(&stream->credit, cluster_stream_space(stream->stream));
    return back == 0 ? 0
                     : put(connection, stream, CLUSTER_FRAME_CREDIT,
                           &(struct cluster_body){.credit = {CLUSTER_CREDIT_BULK, back}});
}

int cluster_call_streams_send(struct cluster_call_stream *stream,
                              struct cluster_connection *connection)
{
    if (stream->number == 0 || stream->over)
        return 0;
    return stream->comes ? send_coming(connection, stream) : send_going(connection, stream);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/connection/streams.h"

#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/call/call_deadline.h"
#include "hub/channel/pump.h"

#define PIECE_MAX  (64 * 1024)
#define PIECE_MIN  4096
#define EXTEND_PER 16 /* how often the call's deadline is moved within its patience */

struct hub_streams {
    struct hub_connection *connection;
    const struct hub_stream_marks *marks;
    struct hub_channel_list channels;
    struct hub_pump *pumps[HUB_CHANNELS_OF_CALL];
    uint64_t patience_ns, number;
    struct hub_a64 moved_ns, extended_ns;
    struct hub_a32 ended; /* number of ended pumps; a futex */
    void (*on_end)(void *user);
    void *user;
    bool *all_moved; /* the order's; NULL: streams are not spared */
    bool moved[HUB_CHANNELS_OF_CALL];
    uint32_t begun;
    bool good;
    int failure; /* why a pump could not begin */
    char why[256];
    size_t size;
    uint8_t arguments[];
};

/* A caller's stream waits as long as the call does. */
static void set_lasting(const struct hub_stream_mark *mark, bool lasting)
{
    if (mark->is_sink)
        ((struct rapahub_sink *)mark->stream)->lasting = lasting;
    else
        ((struct rapahub_source *)mark->stream)->lasting = lasting;
}

static int open_channels(struct hub_streams *streams, uint64_t deadline, uint64_t *ids)
{
    struct hub_channel_list *list = &streams->channels;

    for (uint32_t i = 0; i < streams->marks->count; i++) {
        int r = hub_channels_open(streams->connection->channels, !streams->marks->list[i].is_sink,
                                  deadline, &list->list[i]);

        if (r < 0)
            return r;
        list->count++;
        ids[i] = hub_channel_id(list->list[i]);
    }
    return 0;
}

static int check_streams(const struct hub_stream_marks *marks)
{
    for (uint32_t i = 0; i < marks->count; i++)
        if (!marks->list[i].stream)
            return rapahub_fail(RAPAHUB_EARGUMENTS, "", "a %s is missing: it is NULL",
                                marks->list[i].is_sink ? "sink" : "source");
    return 0;
}

/* r[impl channeling.caller-pov] */
int hub_streams_open(const struct hub_streams_order *order, struct hub_streams **out)
{
    const struct hub_stream_marks *marks = order->marks;
    struct hub_streams *streams =
        calloc(1, sizeof *streams + order->arguments.size + 10 * (size_t)marks->count);
    uint64_t ids[HUB_CHANNELS_OF_CALL];
    int r = check_streams(marks);

    if (!streams)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the streams of a call");
    streams->connection = order->connection;
    streams->marks = marks;
    streams->patience_ns = order->patience_ns;
    streams->on_end = order->on_end;
    streams->all_moved = order->moved;
    streams->user = order->user;
    if (r == 0)
        r = open_channels(streams, order->deadline_ns, ids);
    if (r < 0) {
        hub_channels_discard(&streams->channels);
        free(streams);
        return r;
    }
    streams->size = hub_stream_ids_fill(order->arguments, marks, ids, streams->arguments);
    *out = streams;
    return 0;
}

struct rapahub_bytes hub_streams_arguments(const struct hub_streams *streams)
{
    return (struct rapahub_bytes){streams->arguments, streams->size};
}

const struct hub_channel_list *hub_streams_channels(const struct hub_streams *streams)
{
    return &streams->channels;
}

/* ---- moving ---- */

static void on_moved(void *user)
{
    struct hub_streams *streams = user;
    uint64_t now = hub_clock_now();

    hub_store_relaxed64(&streams->moved_ns, now);
    if (now - hub_load_relaxed64(&streams->extended_ns) < streams->patience_ns / EXTEND_PER)
        return;
    hub_store_relaxed64(&streams->extended_ns, now);
    hub_call_deadline_extend(streams->connection->calls, streams->number,
                             hub_clock_after(streams->patience_ns));
}

static void on_end(void *user)
{
    struct hub_streams *streams = user;

    hub_add(&streams->ended, 1);
    hub_futex_wake_private(&streams->ended);
    if (streams->on_end)
        streams->on_end(streams->user);
}

/* Runs under the receive token: the callee wants no more. */
static void stop_source(void *user)
{
    struct rapahub_source *source = user;

    if (source->stop)
        source->stop(source, true);
}

static size_t piece_of(const struct hub_streams *streams)
{
    const struct hub_limits *limits = hub_link_limits(streams->connection->link);
    size_t piece = limits->credit_size / 2;

    return piece > PIECE_MAX ? PIECE_MAX : piece < PIECE_MIN ? PIECE_MIN : piece;
}

static int start_pump(struct hub_streams *streams, uint32_t index)
{
    const struct hub_stream_mark *mark = &streams->marks->list[index];
    struct hub_channel *channel = streams->channels.list[index];
    struct hub_pump_options options = {.pool = &streams->connection->pool,
                                       .piece = piece_of(streams),
                                       .moved = &streams->moved[index],
                                       .spared = streams->all_moved ? mark->stream : NULL,
                                       .on_moved = on_moved,
                                       .on_end = on_end,
                                       .user = streams};

    set_lasting(mark, true);
    options.source = mark->is_sink ? hub_channel_source(channel) : mark->stream;
    options.sink = mark->is_sink ? mark->stream : hub_channel_sink(channel);
    if (mark->is_sink)
        hub_channel_set_led(channel);
    else
        hub_channel_on_stop(channel, stop_source, mark->stream);
    return hub_pump_start(&options, &streams->pumps[index]);
}

void hub_streams_begin(struct hub_streams *streams, uint64_t number)
{
    streams->number = number;
    hub_store_relaxed64(&streams->moved_ns, hub_clock_now());
    for (uint32_t i = 0; i < streams->channels.count; i++) {
        int r = start_pump(streams, i);

        if (r == 0) {
            streams->begun++;
            continue;
        }
        streams->failure = r;
        snprintf(streams->why, sizeof streams->why, "%s", rapahub_last_error()->text);
        hub_calls_cancel(streams->connection->calls, number);
        return;
    }
}

/* ---- the end ---- */

/* A source is of no use once its callee has answered; the rest of a sink's data is there. */
void hub_streams_close(struct hub_streams *streams, bool good)
{
    streams->good = good && streams->failure == 0;
    hub_store_relaxed64(&streams->moved_ns, hub_clock_now());
    for (uint32_t i = 0; i < streams->channels.count; i++)
        if (streams->pumps[i] && (!streams->good || !streams->marks->list[i].is_sink))
            hub_pump_stop(streams->pumps[i]);
}

/* A pump may note a later time than the one that is read here. */
static bool is_stuck(const struct hub_streams *streams)
{
    uint64_t moved = hub_load_relaxed64(&streams->moved_ns), now = hub_clock_now();

    return now > moved && now - moved > streams->patience_ns;
}

bool hub_streams_settle(struct hub_streams *streams, uint64_t deadline_ns)
{
    uint32_t ended = hub_observe(&streams->ended);

    if (ended == streams->begun)
        return true;
    if (is_stuck(streams)) {
        streams->failure = RAPAHUB_ETIMEDOUT;
        snprintf(streams->why, sizeof streams->why,
                 "what the method wrote was not taken for so long");
        hub_streams_close(streams, false);
        return true;
    }
    hub_futex_wait_private(&streams->ended, ended, deadline_ns);
    return hub_observe(&streams->ended) == streams->begun;
}

/* The callee may have stopped a source that is spared. */
static void spare(const struct hub_streams *streams, uint32_t index)
{
    const struct hub_stream_mark *mark = &streams->marks->list[index];
    struct rapahub_source *source = mark->is_sink ? NULL : mark->stream;

    if (streams->moved[index])
        *streams->all_moved = true;
    else if (source && source->stop)
        source->stop(source, false);
}

/* Joins the pump: 0, or why the caller's own stream failed. The end of its channel is reported
 * elsewhere. */
static int join(struct hub_streams *streams, uint32_t index)
{
    bool at_source = false;
    int r = streams->pumps[index] ? hub_pump_join(&streams->pumps[index], &at_source) : 0;

    /* the channel may outlive the stream */
    hub_channel_on_stop(streams->channels.list[index], NULL, NULL);
    set_lasting(&streams->marks->list[index], false);
    if (streams->all_moved)
        spare(streams, index);
    return r != RAPAHUB_ECANCELED && at_source != streams->marks->list[index].is_sink ? r : 0;
}

/* The first failure of a stream counts; the diagnosis of a later one must not replace it. */
static int join_all(struct hub_streams *streams)
{
    int code = streams->failure;

    for (uint32_t i = 0; i < streams->channels.count; i++) {
        int r = join(streams, i);

        if (code != 0 || r == 0)
            continue;
        code = r;
        snprintf(streams->why, sizeof streams->why, "%s", rapahub_last_error()->text);
    }
    return code;
}

int hub_streams_finish(struct hub_streams **pointer)
{
    struct hub_streams *streams = *pointer;
    int code = join_all(streams);

    if (streams->number == 0)
        hub_channels_discard(&streams->channels);
    else
        hub_channels_drop(&streams->channels);
    if (code < 0)
        rapahub_fail(code, "", "%s", streams->why);
    free(streams);
    *pointer = NULL;
    return code;
}

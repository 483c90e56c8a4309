/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/routed_streams.h"

#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/channel/pump.h"

#define PIECE (64 * 1024)

struct host_routed_streams {
    const struct hub_stream_marks *marks;
    struct host_routed_ends *ends;
    /* the other end of each, one of the two */
    struct rapahub_raw_stream own[HUB_SIGNATURE_ARGUMENTS_MAX];
    struct hub_pump *pumps[HUB_SIGNATURE_ARGUMENTS_MAX];
    uint64_t patience_ns;
    struct hub_a32 ended; /* number of ended pumps; a futex */
    uint32_t begun;
    void (*on_end)(void *user);
    void *user;
    int failure;
    char why[256];
    size_t size;
    uint8_t arguments[];
};

/* ---- the ends of the router ---- */

struct host_routed_ends *host_routed_streams_hold(struct host_routed_ends *ends)
{
    if (ends)
        hub_add(&ends->holders, 1);
    return ends;
}

void host_routed_streams_release(struct host_routed_ends **pointer)
{
    struct host_routed_ends *ends = *pointer;

    *pointer = NULL;
    if (!ends || hub_add(&ends->holders, UINT32_MAX) != 1)
        return;
    for (uint32_t i = 0; i < ends->count; i++) {
        rapahub_source_destroy(ends->list[i].source);
        rapahub_sink_destroy(ends->list[i].sink);
    }
    free(ends);
}

/* ---- open ---- */

/* Each stream of a call waits as long as the call does. */
static void set_lasting(const struct hub_stream_mark *mark, bool lasting)
{
    if (mark->is_sink)
        ((struct rapahub_sink *)mark->stream)->lasting = lasting;
    else
        ((struct rapahub_source *)mark->stream)->lasting = lasting;
}

static int open_pair(struct host_routed_streams *streams, uint32_t index)
{
    const struct hub_stream_mark *mark = &streams->marks->list[index];
    struct host_routed_ends *ends = streams->ends;
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    int r = mark->stream ? rapahub_stream_pair(&sink, &source)
                         : rapahub_fail(RAPAHUB_EARGUMENTS, "", "a %s is missing: it is NULL",
                                        mark->is_sink ? "sink" : "source");

    if (r < 0)
        return r;
    source->lasting = sink->lasting = true;
    if (mark->is_sink) {
        streams->own[index].source = source;
        ends->list[index].sink = sink;
    } else {
        streams->own[index].sink = sink;
        ends->list[index].source = source;
    }
    ends->count++;
    return 0;
}

static int open_pairs(struct host_routed_streams *streams)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < streams->marks->count; i++)
        r = open_pair(streams, i);
    return r;
}

static void on_moved(void *user)
{
    struct host_routed_streams *streams = user;

    hub_store_relaxed64(&streams->ends->moved_ns, hub_clock_now());
}

static void on_end(void *user)
{
    struct host_routed_streams *streams = user;

    hub_add(&streams->ended, 1);
    hub_futex_wake_private(&streams->ended);
    streams->on_end(streams->user);
}

static int start_pump(struct host_routed_streams *streams, struct hub_thread_pool *pool,
                      uint32_t index)
{
    const struct hub_stream_mark *mark = &streams->marks->list[index];
    const struct hub_pump_options options = {
        .source = mark->is_sink ? streams->own[index].source : mark->stream,
        .sink = mark->is_sink ? mark->stream : streams->own[index].sink,
        .pool = pool,
        .piece = PIECE,
        .on_moved = on_moved,
        .on_end = on_end,
        .user = streams};
    int r;

    set_lasting(mark, true);
    r = hub_pump_start(&options, &streams->pumps[index]);
    if (r == 0)
        streams->begun++;
    return r;
}

static void note_failure(struct host_routed_streams *streams, int code)
{
    if (streams->failure != 0 || code == 0)
        return;
    streams->failure = code;
    snprintf(streams->why, sizeof streams->why, "%s", rapahub_last_error()->text);
}

static int begin(struct host_routed_streams *streams, struct hub_thread_pool *pool)
{
    int r = open_pairs(streams);

    for (uint32_t i = 0; r == 0 && i < streams->marks->count; i++)
        r = start_pump(streams, pool, i);
    if (r < 0)
        note_failure(streams, r);
    return r;
}

static void number(struct host_routed_streams *streams, struct rapahub_bytes arguments)
{
    uint64_t ids[HUB_SIGNATURE_ARGUMENTS_MAX];

    for (uint32_t i = 0; i < streams->marks->count; i++)
        ids[i] = i;
    streams->size = hub_stream_ids_fill(arguments, streams->marks, ids, streams->arguments);
}

/* r[impl hub.route.streams] */
int host_routed_streams_open(const struct host_routed_streams_order *order,
                             struct host_routed_streams **out)
{
    struct host_routed_streams *streams =
        calloc(1, sizeof *streams + order->arguments.size + 10 * (size_t)order->marks->count);

    if (streams)
        streams->ends = calloc(1, sizeof *streams->ends);
    if (!streams || !streams->ends) {
        free(streams);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the streams of a call");
    }
    hub_store_relaxed(&streams->ends->holders, 1);
    streams->marks = order->marks;
    streams->patience_ns = order->patience_ns;
    streams->on_end = order->on_end;
    streams->user = order->user;
    number(streams, order->arguments);
    if (begin(streams, order->pool) < 0) {
        host_routed_streams_close(streams, false);
        return host_routed_streams_finish(&streams);
    }
    *out = streams;
    return 0;
}

struct rapahub_bytes host_routed_streams_arguments(const struct host_routed_streams *streams)
{
    return (struct rapahub_bytes){streams->arguments, streams->size};
}

struct host_routed_ends *host_routed_streams_ends(const struct host_routed_streams *streams)
{
    return streams->ends;
}

/* ---- the end ---- */

/* A source is of no use once the call was answered; all data of a sink is in its pair. */
void host_routed_streams_close(struct host_routed_streams *streams, bool good)
{
    on_moved(streams);
    for (uint32_t i = 0; i < streams->marks->count; i++) {
        struct rapahub_sink *written = streams->ends->list[i].sink;

        if (good && written)
            note_failure(streams, rapahub_sink_end(written));
        else if (streams->pumps[i])
            hub_pump_stop(streams->pumps[i]);
    }
}

static bool is_stuck(const struct host_routed_streams *streams)
{
    uint64_t moved = hub_load_relaxed64(&streams->ends->moved_ns), now = hub_clock_now();

    return now > moved && now - moved > streams->patience_ns;
}

bool host_routed_streams_settle(struct host_routed_streams *streams, uint64_t deadline_ns)
{
    uint32_t ended = hub_observe(&streams->ended);

    if (ended == streams->begun)
        return true;
    if (is_stuck(streams)) {
        note_failure(streams, rapahub_fail(RAPAHUB_ETIMEDOUT, "",
                                           "what the method wrote was not taken for so long"));
        host_routed_streams_close(streams, false);
        return true;
    }
    hub_futex_wait_private(&streams->ended, ended, deadline_ns);
    return hub_observe(&streams->ended) == streams->begun;
}

/* Joins the pump, and notes why the caller's own stream failed. */
static void join(struct host_routed_streams *streams, uint32_t index)
{
    const struct hub_stream_mark *mark = &streams->marks->list[index];
    bool at_source = false;
    int r = streams->pumps[index] ? hub_pump_join(&streams->pumps[index], &at_source) : 0;

    if (mark->stream)
        set_lasting(mark, false);
    if (r < 0 && r != RAPAHUB_ECANCELED && at_source != mark->is_sink)
        note_failure(streams, r);
    rapahub_source_destroy(streams->own[index].source);
    rapahub_sink_destroy(streams->own[index].sink);
}

int host_routed_streams_finish(struct host_routed_streams **pointer)
{
    struct host_routed_streams *streams = *pointer;
    int code;

    for (uint32_t i = 0; i < streams->marks->count; i++)
        join(streams, i);
    code = streams->failure;
    if (code < 0)
        rapahub_fail(code, "", "%s", streams->why);
    host_routed_streams_release(&streams->ends);
    free(streams);
    *pointer = NULL;
    return code;
}

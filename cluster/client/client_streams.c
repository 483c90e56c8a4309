/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/client_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/channel/stream.h"

#define PIECE (64 * 1024)

int cluster_client_streams_init(struct cluster_client_stream_means *means)
{
    cluster_streams_init(&means->open);
    hub_thread_pool_init(&means->pool);
    return cluster_bell_create(CLUSTER_CLIENT_STREAMS_MAX, &means->bell);
}

void cluster_client_streams_fini(struct cluster_client_stream_means *means)
{
    hub_thread_pool_fini(&means->pool);
    cluster_bell_drop(&means->bell);
}

struct cluster_client_streams *cluster_client_streams_make(const struct hub_stream_marks *marks)
{
    struct cluster_client_streams *streams = calloc(1, sizeof *streams);

    if (!streams) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the streams of a call");
        return NULL;
    }
    streams->marks = marks;
    return streams;
}

void cluster_client_streams_release(struct cluster_client_streams **streams)
{
    if (*streams) {
        cluster_call_streams_drop(&(*streams)->sent);
        free((*streams)->memory);
    }
    free(*streams);
    *streams = NULL;
}

static uint32_t bits_of(const struct hub_stream_marks *marks, bool sinks)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < marks->count; i++)
        if (marks->list[i].is_sink == sinks)
            bits |= 1u << i;
    return bits;
}

uint32_t cluster_client_streams_sources(const struct hub_stream_marks *marks)
{
    return bits_of(marks, false);
}

uint32_t cluster_client_streams_sinks(const struct hub_stream_marks *marks)
{
    return bits_of(marks, true);
}

/* ---- sent ---- */

/* There is space for what the method writes before a thread moves it on. */
int cluster_client_streams_offer(struct cluster_client_streams *streams,
                                 struct cluster_client_stream_means *means, uint64_t call,
                                 uint64_t patience_ns)
{
    const struct cluster_call_streams_order order = {
        .call = call,
        .patience_ns = patience_ns,
        .come = cluster_client_streams_sinks(streams->marks),
        .go = cluster_client_streams_sources(streams->marks),
        .bell = means->bell};
    int r = streams->sent ? 0 : cluster_call_streams_make(&order, &streams->sent);

    if (r < 0 || streams->means)
        return r;
    streams->means = means;
    for (uint32_t i = 0; i < streams->sent->count; i++)
        if (streams->sent->all[i].comes)
            cluster_stream_want(streams->sent->all[i].stream);
    cluster_streams_add(&means->open, cluster_call_streams_hold(streams->sent));
    return 0;
}

static void take_back(struct cluster_client_streams *streams)
{
    if (streams->means && !hub_list_empty(&streams->sent->link))
        cluster_streams_remove(&streams->means->open, streams->sent);
    streams->means = NULL;
}

/* r[impl cluster.client.streams] */
bool cluster_client_streams_withdraw(struct cluster_client_streams *streams)
{
    if (streams->moves)
        return false;
    take_back(streams);
    cluster_call_streams_drop(&streams->sent);
    return true;
}

/* ---- bytes move ---- */

static void on_moved(void *user)
{
    struct cluster_client_streams *streams = user;

    hub_store_relaxed64(&streams->sent->moved_ns, hub_clock_now());
}

static void on_end(void *user)
{
    struct cluster_client_streams *streams = user;

    hub_add(&streams->ended, 1);
    cluster_bell_ring(streams->sent->bell);
}

/* A stream of the caller waits as long as the call does. */
static void set_lasting(const struct hub_stream_mark *mark, bool lasting)
{
    if (mark->is_sink)
        ((struct rapahub_sink *)mark->stream)->lasting = lasting;
    else
        ((struct rapahub_source *)mark->stream)->lasting = lasting;
}

static int start_pump(struct cluster_client_streams *streams, uint32_t index)
{
    const struct hub_stream_mark *mark = &streams->marks->list[index];
    const struct rapahub_raw_stream *end = &streams->sent->ends[index];
    const struct hub_pump_options options = {.source = mark->is_sink ? end->source : mark->stream,
                                             .sink = mark->is_sink ? mark->stream : end->sink,
                                             .pool = &streams->means->pool,
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

int cluster_client_streams_begin(struct cluster_client_streams *streams)
{
    int r = 0;

    if (streams->moves || (streams->has_end && streams->end.code < 0))
        return 0;
    streams->moves = true;
    for (uint32_t i = 0; i < streams->marks->count && r == 0; i++)
        if (!streams->has_end || streams->marks->list[i].is_sink)
            r = start_pump(streams, i);
    return r;
}

/* ---- the end ---- */

/* Without memory for the answer there is none. */
static void keep(struct cluster_client_streams *streams, const struct cluster_client_end *end)
{
    static const char none[] = "no memory for the answer";
    bool failed = end->code < 0;
    const void *from = failed ? (const void *)end->text.data : end->payload.data;
    size_t size = failed ? end->text.size : end->payload.size;

    free(streams->memory);
    streams->memory = malloc(size + 1);
    streams->end = *end;
    streams->has_end = true;
    if (!streams->memory) {
        streams->end =
            (struct cluster_client_end){.code = RAPAHUB_ENOMEM, .text = {none, sizeof none - 1}};
        return;
    }
    if (size > 0)
        memcpy(streams->memory, from, size);
    streams->end.text = (struct rapahub_string){streams->memory, failed ? size : 0};
    streams->end.payload = (struct rapahub_bytes){streams->memory, failed ? 0 : size};
}

/* A source is of no use once the method has returned; what it wrote is still passed on. */
void cluster_client_streams_end(struct cluster_client_streams *streams,
                                const struct cluster_client_end *end)
{
    if (streams->has_end && (streams->end.code < 0 || end->code >= 0))
        return;
    keep(streams, end);
    for (uint32_t i = 0; i < streams->marks->count; i++)
        if (streams->pumps[i] && (streams->end.code < 0 || !streams->marks->list[i].is_sink))
            hub_pump_stop(streams->pumps[i]);
}

static const char maybe[] = "the node is away, and some was moved of a stream, or had to come";
const struct cluster_client_end cluster_client_streams_maybe = {
    RAPAHUB_EMAYBE, 0, {maybe, sizeof maybe - 1}, {0}};

bool cluster_client_streams_lack(const struct cluster_client_streams *streams)
{
    return streams->has_end && streams->end.code >= 0 && !streams->moves &&
           cluster_client_streams_sinks(streams->marks) != 0;
}

bool cluster_client_streams_are_done(const struct cluster_client_streams *streams)
{
    bool failed = streams->end.code < 0;

    return streams->has_end && hub_observe(&streams->ended) == streams->begun &&
           (failed || streams->moves || cluster_client_streams_sinks(streams->marks) == 0);
}

/* Says whether a failure of a pump is one of its call: of the caller's own stream, or of a sink
 * whose rest did not come though the method has returned. */
static bool counts(const struct cluster_client_streams *streams, uint32_t index, int code,
                   bool at_source)
{
    bool is_sink = streams->marks->list[index].is_sink;

    return code < 0 && code != RAPAHUB_ECANCELED &&
           (at_source != is_sink || (is_sink && streams->end.code == 0));
}

struct cluster_client_end cluster_client_streams_finish(struct cluster_client_streams *streams,
                                                        char *text, size_t size)
{
    struct cluster_client_end end = streams->end;
    bool failed = false;

    for (uint32_t i = 0; i < streams->marks->count; i++) {
        bool at_source = false;
        int r = streams->pumps[i] ? hub_pump_join(&streams->pumps[i], &at_source) : 0;

        set_lasting(&streams->marks->list[i], false);
        if (failed || !counts(streams, i, r, at_source))
            continue;
        failed = true;
        snprintf(text, size, "%s", rapahub_last_error()->text);
        end = (struct cluster_client_end){.code = r, .text = rapahub_string_of(text)};
    }
    take_back(streams);
    return end;
}

uint64_t cluster_client_streams_moved(const struct cluster_client_streams *streams)
{
    return streams->moves ? hub_load_relaxed64(&streams->sent->moved_ns) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/stream/streams.h"

#include <rapahub/error.h>

#include "hub/base/clock.h"

#define ROUNDS_MAX 16 /* pieces of each stream in a turn; then others are served */

#define CALL_OF(item) HUB_LIST_ITEM(item, struct cluster_call_streams, link)

void cluster_streams_init(struct cluster_streams *streams)
{
    *streams = (struct cluster_streams){.count = 0};
    hub_list_init(&streams->open);
}

void cluster_streams_add(struct cluster_streams *streams, struct cluster_call_streams *call)
{
    hub_list_append(&streams->open, &call->link);
    streams->count += call->count;
}

struct cluster_call_streams *cluster_streams_find(const struct cluster_streams *streams,
                                                  uint64_t call)
{
    HUB_LIST_EACH (&streams->open, link)
        if (CALL_OF(link)->call == call)
            return CALL_OF(link);
    return NULL;
}

/* Bytes for which the other side has credit may be under way. They are counted once. */
static void note_late(struct cluster_streams *streams, struct cluster_call_stream *one)
{
    if (one->comes && one->credit.granted > 0)
        streams->late += (uint64_t)one->credit.granted;
    one->credit.granted = 0;
}

void cluster_streams_remove(struct cluster_streams *streams, struct cluster_call_streams *call)
{
    cluster_call_streams_break(call);
    for (uint32_t i = 0; i < call->count; i++)
        note_late(streams, &call->all[i]);
    hub_list_remove(&call->link);
    streams->count -= call->count;
    cluster_call_streams_drop(&call);
}

void cluster_streams_lose(struct cluster_streams *streams)
{
    HUB_LIST_EACH (&streams->open, link)
        cluster_streams_remove(streams, CALL_OF(link));
    cluster_streams_init(streams);
}

/* Streams of a call that has failed, and that were not opened, are not waited for. */
static void answer_one(struct cluster_call_stream *one, bool good)
{
    if (one->comes || !good)
        cluster_stream_break(one->stream);
    if (one->comes)
        cluster_stream_leave(one->stream);
    if (one->number == 0 && !good)
        one->over = true;
}

void cluster_streams_answered(struct cluster_streams *streams, uint64_t call, bool good)
{
    struct cluster_call_streams *found = cluster_streams_find(streams, call);

    if (!found || found->answered)
        return;
    found->answered = true;
    for (uint32_t i = 0; i < found->count; i++)
        answer_one(&found->all[i], good);
    cluster_bell_ring(found->bell);
}

/* ---- opened ---- */

/* r[impl cluster.stream.open] */
int cluster_streams_open(struct cluster_streams *streams, struct cluster_call_streams *call,
                         struct cluster_connection *connection, const struct cluster_frame *frame)
{
    int r = 0;

    for (uint32_t i = 0; i < call->count && r == 0; i++) {
        struct cluster_frame open = *frame;

        open.type = CLUSTER_FRAME_BULK_OPEN;
        open.stream = call->all[i].number = ++streams->last;
        r = cluster_connection_put(connection, &open,
                                   &(struct cluster_body){.bulk_open = {i, call->all[i].comes}});
    }
    return r;
}

static int refuse(const struct cluster_frame *frame, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.stream.open", "a %s %s",
                        cluster_frame_name(frame->type), why);
}

/* r[impl cluster.stream.open] */
int cluster_streams_opened(struct cluster_streams *streams, const struct cluster_frame *frame,
                           const struct cluster_body_bulk_open *open)
{
    struct cluster_call_streams *call = cluster_streams_find(streams, frame->uid.number);
    struct cluster_call_stream *one;

    if (frame->stream <= streams->last)
        return refuse(frame, "has a number that was used");
    streams->last = frame->stream;
    if (!call)
        return 0;
    one = &call->all[open->index];
    if (open->index >= call->count || one->number != 0 || one->comes == open->sink)
        return refuse(frame, "opens no stream of its call, or one that is open");
    one->number = frame->stream;
    cluster_bell_ring(call->bell);
    return 0;
}

/* ---- frames ---- */

static struct cluster_call_stream *find_number(const struct cluster_streams *streams,
                                               uint32_t number, struct cluster_call_streams **of)
{
    HUB_LIST_EACH (&streams->open, link) {
        *of = CALL_OF(link);
        for (uint32_t i = 0; i < (*of)->count; i++)
            if ((*of)->all[i].number == number)
                return &(*of)->all[i];
    }
    *of = NULL;
    return NULL;
}

/* r[impl cluster.stream.late] */
static int take_late(struct cluster_streams *streams, const struct cluster_frame *frame)
{
    if (frame->stream > streams->last)
        return refuse(frame, "is of a stream that was not opened");
    if (frame->type != CLUSTER_FRAME_BULK_DATA)
        return 0;
    if (frame->body_size > streams->late)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.stream.credit",
                            "more bytes of a stream came than there was credit for");
    streams->late -= frame->body_size;
    return 0;
}

int cluster_streams_take(struct cluster_streams *streams, const struct cluster_frame *frame,
                         const struct cluster_body *body, struct cluster_call_streams **of)
{
    struct cluster_call_stream *one = find_number(streams, frame->stream, of);
    int r;

    if (!one || one->over) {
        *of = NULL;
        return take_late(streams, frame);
    }
    r = cluster_call_streams_take(one, frame, body);
    if (one->over)
        note_late(streams, one);
    return r;
}

/* Sends a piece of each stream. Returns 1 if there may be more. */
static int send_round(struct cluster_streams *streams, struct cluster_connection *connection)
{
    int more = 0;

    HUB_LIST_EACH (&streams->open, link) {
        struct cluster_call_streams *call = CALL_OF(link);

        for (uint32_t i = 0; i < call->count; i++) {
            int r = cluster_call_streams_send(&call->all[i], connection);

            if (r < 0)
                return r;
            if (call->all[i].over)
                note_late(streams, &call->all[i]);
            more |= r;
        }
        if (call->answered && cluster_call_streams_are_over(call))
            cluster_streams_remove(streams, call);
    }
    return more;
}

int cluster_streams_send(struct cluster_streams *streams, struct cluster_connection *connection)
{
    int more = 1, r = 0;

    if (hub_list_empty(&streams->open))
        return 0;
    for (unsigned round = 0; more > 0 && r == 0 && round < ROUNDS_MAX; round++) {
        more = send_round(streams, connection);
        r = more < 0 ? more : cluster_connection_flush(connection);
    }
    if (r == 0 && more > 0 && !hub_list_empty(&streams->open))
        cluster_bell_ring(CALL_OF(streams->open.next)->bell); /* in the next turn */
    return r;
}

/* ---- patience ---- */

static uint64_t end_of(const struct cluster_call_streams *call)
{
    uint64_t moved_ns = hub_load_relaxed64(&call->moved_ns);

    return call->patience_ns > HUB_NEVER - moved_ns ? HUB_NEVER : moved_ns + call->patience_ns;
}

struct cluster_call_streams *cluster_streams_stuck(const struct cluster_streams *streams,
                                                   uint64_t now_ns)
{
    HUB_LIST_EACH (&streams->open, link)
        if (end_of(CALL_OF(link)) <= now_ns)
            return CALL_OF(link);
    return NULL;
}

uint64_t cluster_streams_due(const struct cluster_streams *streams)
{
    uint64_t due = HUB_NEVER;

    HUB_LIST_EACH (&streams->open, link) {
        uint64_t end = end_of(CALL_OF(link)); /* threads move it on */

        if (end < due)
            due = end;
    }
    return due;
}

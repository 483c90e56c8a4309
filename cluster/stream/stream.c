/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/stream/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/mutex.h"
#include "hub/channel/stream.h"

#define STEP (CLUSTER_STREAM_WINDOW / 8) /* bytes that are worth a ring of the bell */

struct cluster_stream {
    struct rapahub_source source; /* the end for threads, of a stream that comes */
    struct rapahub_sink sink;     /* and of one that goes */
    bool comes;
    struct cluster_bell *bell;
    struct hub_a64 *moved_ns;
    struct hub_a32 news; /* a futex, for the thread that waits */
    struct hub_mutex lock;
    /* under the lock */
    bool stopped;        /* the thread is told not to wait here */
    bool wanted, opened; /* something has wanted to read; and it is known that there is space */
    bool left;           /* no reader wants more */
    bool whole, broken;  /* no more will come: all has, or not */
    uint32_t space;      /* bytes that were read, and not asked for yet */
    uint32_t head, tail; /* free-running */
    uint8_t data[CLUSTER_STREAM_WINDOW];
};

#define OF_SOURCE(face) \
    ((struct cluster_stream *)(void *)((char *)(face)-offsetof(struct cluster_stream, source)))
#define OF_SINK(face) \
    ((struct cluster_stream *)(void *)((char *)(face)-offsetof(struct cluster_stream, sink)))

/* ---- bytes ---- */

static void copy_out(const struct cluster_stream *stream, uint8_t *to, uint32_t size)
{
    uint32_t at = stream->head % CLUSTER_STREAM_WINDOW, to_end = CLUSTER_STREAM_WINDOW - at;
    uint32_t first = size < to_end ? size : to_end;

    memcpy(to, stream->data + at, first);
    memcpy(to + first, stream->data, size - first);
}

static void copy_in(struct cluster_stream *stream, const uint8_t *from, uint32_t size)
{
    uint32_t at = stream->tail % CLUSTER_STREAM_WINDOW, to_end = CLUSTER_STREAM_WINDOW - at;
    uint32_t first = size < to_end ? size : to_end;

    memcpy(stream->data + at, from, first);
    memcpy(stream->data, from + first, size - first);
}

/* Wakes the thread that waits at its end. */
static void tell(struct cluster_stream *stream)
{
    hub_add(&stream->news, 1);
    hub_futex_wake_private(&stream->news);
}

static void note_moved(const struct cluster_stream *stream)
{
    hub_store_relaxed64(stream->moved_ns, hub_clock_now());
}

/* ---- the end for threads: a source ---- */

/* Returns bytes, 0 at the end, -EAGAIN to wait, or why none come. */
static ssize_t try_read(struct cluster_stream *stream, void *to, size_t size) REQUIRES(stream->lock)
{
    uint32_t there = stream->tail - stream->head;
    uint32_t n = size < there ? (uint32_t)size : there;

    if (stream->stopped)
        return RAPAHUB_ECANCELED;
    if (n > 0) {
        copy_out(stream, to, n);
        stream->head += n;
        stream->space += n;
        return (ssize_t)n;
    }
    if (stream->whole)
        return 0;
    return stream->broken ? RAPAHUB_ERESET : -EAGAIN;
}

/* The thread of the connection is told of the first wish to read, and of space that is worth it. */
static ssize_t read_once(struct cluster_stream *stream, void *to, size_t size)
{
    bool rings;
    ssize_t n;

    hub_mutex_lock(&stream->lock);
    n = try_read(stream, to, size);
    rings = !stream->wanted || (n > 0 && stream->space >= STEP && stream->space - n < STEP);
    if (!stream->wanted && n != RAPAHUB_ECANCELED)
        stream->wanted = true;
    hub_mutex_unlock(&stream->lock);
    if (rings)
        cluster_bell_ring(stream->bell);
    return n;
}

static ssize_t read_source(struct rapahub_source *face, void *to, size_t size)
{
    struct cluster_stream *stream = OF_SOURCE(face);

    while (size > 0) {
        uint32_t seen = hub_observe(&stream->news);
        ssize_t n = read_once(stream, to, size);

        if (n > 0)
            note_moved(stream);
        if (n != -EAGAIN)
            return n < 0 ? rapahub_fail((int)n, "", "the rest of the stream does not come") : n;
        (void)hub_futex_wait_private(&stream->news, seen, HUB_NEVER);
    }
    return 0;
}

/* ---- the end for threads: a sink ---- */

/* Returns bytes, or a failure: -EAGAIN to wait. */
static ssize_t try_write(struct cluster_stream *stream, const void *from, size_t size)
    REQUIRES(stream->lock)
{
    uint32_t room = CLUSTER_STREAM_WINDOW - (stream->tail - stream->head);
    uint32_t n = size < room ? (uint32_t)size : room;

    if (stream->stopped)
        return RAPAHUB_ECANCELED;
    if (stream->left || stream->broken)
        return RAPAHUB_ERESET;
    if (stream->whole)
        return RAPAHUB_ESTATE;
    if (n == 0)
        return -EAGAIN;
    copy_in(stream, from, n);
    stream->tail += n;
    return (ssize_t)n;
}

static ssize_t write_once(struct cluster_stream *stream, const void *from, size_t size)
{
    ssize_t n;

    hub_mutex_lock(&stream->lock);
    n = try_write(stream, from, size);
    hub_mutex_unlock(&stream->lock);
    if (n > 0)
        cluster_bell_ring(stream->bell);
    return n;
}

static int write_sink(struct rapahub_sink *face, const void *from, size_t size)
{
    struct cluster_stream *stream = OF_SINK(face);

    for (size_t done = 0; done < size;) {
        uint32_t seen = hub_observe(&stream->news);
        ssize_t n = write_once(stream, (const uint8_t *)from + done, size - done);

        if (n > 0) {
            done += (size_t)n;
            note_moved(stream);
            hub_stream_part(face);
        } else if (n != -EAGAIN) {
            return rapahub_fail((int)n, "", "the other side of the stream reads no more");
        } else {
            (void)hub_futex_wait_private(&stream->news, seen, HUB_NEVER);
        }
    }
    return 0;
}

/* ---- flags ---- */

static void set(struct cluster_stream *stream, bool *flag, bool value)
{
    hub_mutex_lock(&stream->lock);
    *flag = value;
    hub_mutex_unlock(&stream->lock);
    tell(stream);
}

/* What is whole stays so. */
void cluster_stream_break(struct cluster_stream *stream)
{
    hub_mutex_lock(&stream->lock);
    stream->broken = !stream->whole;
    hub_mutex_unlock(&stream->lock);
    tell(stream);
}

static void stop_source(struct rapahub_source *face, bool stopped)
{
    set(OF_SOURCE(face), &OF_SOURCE(face)->stopped, stopped);
}

static void stop_sink(struct rapahub_sink *face, bool stopped)
{
    set(OF_SINK(face), &OF_SINK(face)->stopped, stopped);
}

static void leave_source(struct rapahub_source *face)
{
    set(OF_SOURCE(face), &OF_SOURCE(face)->left, true);
    cluster_bell_ring(OF_SOURCE(face)->bell);
}

static int end_sink(struct rapahub_sink *face)
{
    set(OF_SINK(face), &OF_SINK(face)->whole, true);
    cluster_bell_ring(OF_SINK(face)->bell);
    return 0;
}

static void leave_sink(struct rapahub_sink *face)
{
    cluster_stream_break(OF_SINK(face));
    cluster_bell_ring(OF_SINK(face)->bell);
}

struct cluster_stream *cluster_stream_make(bool comes, struct cluster_bell *bell,
                                           struct hub_a64 *moved_ns)
{
    struct cluster_stream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stream");
        return NULL;
    }
    hub_mutex_init(&stream->lock, HUB_MUTEX_STREAM_PAIR);
    stream->comes = comes;
    stream->bell = bell;
    stream->moved_ns = moved_ns;
    stream->source = (struct rapahub_source){
        .read = read_source, .stop = stop_source, .leave = leave_source, .lasting = true};
    stream->sink = (struct rapahub_sink){.write = write_sink,
                                         .end = end_sink,
                                         .stop = stop_sink,
                                         .leave = leave_sink,
                                         .lasting = true};
    return stream;
}

void cluster_stream_release(struct cluster_stream **stream)
{
    if (*stream)
        hub_mutex_fini(&(*stream)->lock);
    free(*stream);
    *stream = NULL;
}

struct rapahub_raw_stream cluster_stream_end(struct cluster_stream *stream)
{
    return stream->comes ? (struct rapahub_raw_stream){.source = &stream->source}
                         : (struct rapahub_raw_stream){.sink = &stream->sink};
}

/* ---- the side of the connection ---- */

bool cluster_stream_put(struct cluster_stream *stream, struct rapahub_bytes bytes)
{
    bool fits;

    hub_mutex_lock(&stream->lock);
    fits = bytes.size <= CLUSTER_STREAM_WINDOW - (stream->tail - stream->head);
    if (fits) {
        copy_in(stream, bytes.data, (uint32_t)bytes.size);
        stream->tail += (uint32_t)bytes.size;
    }
    hub_mutex_unlock(&stream->lock);
    tell(stream);
    return fits;
}

void cluster_stream_finish(struct cluster_stream *stream)
{
    set(stream, &stream->whole, true);
}

void cluster_stream_want(struct cluster_stream *stream)
{
    set(stream, &stream->wanted, true);
}

/* r[impl cluster.stream.wanted] */
uint32_t cluster_stream_space(struct cluster_stream *stream)
{
    uint32_t space;

    hub_mutex_lock(&stream->lock);
    space = stream->space;
    stream->space = 0;
    if (stream->wanted && !stream->opened) {
        stream->opened = true;
        space = CLUSTER_STREAM_WINDOW;
    }
    hub_mutex_unlock(&stream->lock);
    return space;
}

bool cluster_stream_is_left(struct cluster_stream *stream)
{
    bool left;

    hub_mutex_lock(&stream->lock);
    left = stream->left;
    hub_mutex_unlock(&stream->lock);
    return left;
}

size_t cluster_stream_waiting(struct cluster_stream *stream, enum cluster_stream_state *state)
{
    size_t size;

    hub_mutex_lock(&stream->lock);
    size = stream->tail - stream->head;
    *state = stream->broken  ? CLUSTER_STREAM_BROKEN
             : stream->whole ? CLUSTER_STREAM_WHOLE
                             : CLUSTER_STREAM_OPEN;
    hub_mutex_unlock(&stream->lock);
    return size;
}

void cluster_stream_take(struct cluster_stream *stream, uint8_t *to, size_t size)
{
    hub_mutex_lock(&stream->lock);
    copy_out(stream, to, (uint32_t)size);
    stream->head += (uint32_t)size;
    hub_mutex_unlock(&stream->lock);
    note_moved(stream);
    tell(stream);
}

void cluster_stream_leave(struct cluster_stream *stream)
{
    set(stream, &stream->left, true);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stream_pair: a stream within one process: bytes written to its sink are read from its source. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/mutex.h"
#include "hub/channel/stream.h"

#define CAPACITY 65536u
#define PATIENCE (30 * HUB_SECOND)

/* Freed by the last of its two ends. */
struct pair {
    struct rapahub_source source;
    struct rapahub_sink sink;
    struct hub_mutex lock;
    struct hub_a32 news;
    unsigned ends;
    bool ended;  /* everything is written */
    bool broken; /* the rest will not come */
    bool left;   /* the reader has left */
    bool source_stopped, sink_stopped;
    uint32_t head, tail; /* free-running */
    uint8_t data[CAPACITY];
};

#define OF_SOURCE(face) ((struct pair *)(void *)((char *)(face)-offsetof(struct pair, source)))
#define OF_SINK(face)   ((struct pair *)(void *)((char *)(face)-offsetof(struct pair, sink)))

static void tell(struct pair *pair)
{
    hub_add(&pair->news, 1);
    hub_futex_wake_private(&pair->news);
}

/* Copies between the ring and `size` bytes outside of it, in at most two pieces. */
static void copy_out(const struct pair *pair, uint8_t *to, uint32_t size)
{
    uint32_t at = pair->head % CAPACITY, first = size < CAPACITY - at ? size : CAPACITY - at;

    memcpy(to, pair->data + at, first);
    memcpy(to + first, pair->data, size - first);
}

static void copy_in(struct pair *pair, const uint8_t *from, uint32_t size)
{
    uint32_t at = pair->tail % CAPACITY, first = size < CAPACITY - at ? size : CAPACITY - at;

    memcpy(pair->data + at, from, first);
    memcpy(pair->data, from + first, size - first);
}

/* Returns bytes, 0 at the end, -EAGAIN to wait, or why none come. */
static ssize_t try_read(struct pair *pair, void *to, size_t size)
{
    uint32_t there = pair->tail - pair->head;
    uint32_t n = size < there ? (uint32_t)size : there;

    if (pair->source_stopped)
        return RAPAHUB_ECANCELED;
    if (n > 0) {
        copy_out(pair, to, n);
        pair->head += n;
        return (ssize_t)n;
    }
    if (pair->ended)
        return 0;
    return pair->broken ? RAPAHUB_ERESET : -EAGAIN;
}

static ssize_t read_pair(struct rapahub_source *face, void *to, size_t size)
{
    struct pair *pair = OF_SOURCE(face);
    uint64_t deadline = face->lasting ? HUB_NEVER : hub_clock_after(PATIENCE);

    while (size > 0) {
        uint32_t seen = hub_observe(&pair->news);
        ssize_t n;

        hub_mutex_lock(&pair->lock);
        n = try_read(pair, to, size);
        hub_mutex_unlock(&pair->lock);
        if (n >= 0)
            tell(pair);
        if (n != -EAGAIN)
            return n < 0 ? rapahub_fail((int)n, "", "the stream has no writer any more") : n;
        if (hub_futex_wait_private(&pair->news, seen, deadline) == -ETIMEDOUT)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "nothing was written for 30 s");
    }
    return 0;
}

/* Returns bytes, or a failure: -EAGAIN to wait. */
static ssize_t try_write(struct pair *pair, const void *from, size_t size)
{
    uint32_t room = CAPACITY - (pair->tail - pair->head);
    uint32_t n = size < room ? (uint32_t)size : room;

    if (pair->sink_stopped)
        return RAPAHUB_ECANCELED;
    if (pair->left)
        return RAPAHUB_ERESET;
    if (pair->ended)
        return RAPAHUB_ESTATE;
    if (n == 0)
        return -EAGAIN;
    copy_in(pair, from, n);
    pair->tail += n;
    return (ssize_t)n;
}

static int write_pair(struct rapahub_sink *face, const void *from, size_t size)
{
    struct pair *pair = OF_SINK(face);
    uint64_t deadline = face->lasting ? HUB_NEVER : hub_clock_after(PATIENCE);

    for (size_t done = 0; done < size;) {
        uint32_t seen = hub_observe(&pair->news);
        ssize_t n;

        hub_mutex_lock(&pair->lock);
        n = try_write(pair, (const uint8_t *)from + done, size - done);
        hub_mutex_unlock(&pair->lock);
        if (n > 0) {
            done += (size_t)n;
            tell(pair);
            hub_stream_part(face);
        } else if (n != -EAGAIN) {
            return rapahub_fail((int)n, "", "the stream has no reader any more");
        } else if (hub_futex_wait_private(&pair->news, seen, deadline) == -ETIMEDOUT) {
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "nothing was read for 30 s");
        }
    }
    return 0;
}

static void set(struct pair *pair, bool *flag, bool value)
{
    hub_mutex_lock(&pair->lock);
    *flag = value;
    hub_mutex_unlock(&pair->lock);
    tell(pair);
}

static int end_sink(struct rapahub_sink *face)
{
    struct pair *pair = OF_SINK(face);

    set(pair, &pair->ended, true);
    return 0;
}

static void stop_source(struct rapahub_source *face, bool stopped)
{
    set(OF_SOURCE(face), &OF_SOURCE(face)->source_stopped, stopped);
}

static void stop_sink(struct rapahub_sink *face, bool stopped)
{
    set(OF_SINK(face), &OF_SINK(face)->sink_stopped, stopped);
}

static void leave_source(struct rapahub_source *face)
{
    set(OF_SOURCE(face), &OF_SOURCE(face)->left, true);
}

static void leave_sink(struct rapahub_sink *face)
{
    set(OF_SINK(face), &OF_SINK(face)->broken, true);
}

static void drop(struct pair *pair)
{
    bool last;

    hub_mutex_lock(&pair->lock);
    last = --pair->ends == 0;
    hub_mutex_unlock(&pair->lock);
    if (!last)
        return;
    hub_mutex_fini(&pair->lock);
    free(pair);
}

static void destroy_source(struct rapahub_source *face)
{
    leave_source(face);
    drop(OF_SOURCE(face));
}

static void destroy_sink(struct rapahub_sink *face)
{
    leave_sink(face);
    drop(OF_SINK(face));
}

int rapahub_stream_pair(struct rapahub_sink **out_sink, struct rapahub_source **out_source)
{
    struct pair *pair = calloc(1, sizeof *pair);

    if (!pair)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stream");
    hub_mutex_init(&pair->lock, HUB_MUTEX_STREAM_PAIR);
    pair->ends = 2;
    pair->source = (struct rapahub_source){
        .read = read_pair, .stop = stop_source, .leave = leave_source, .destroy = destroy_source};
    pair->sink = (struct rapahub_sink){.write = write_pair,
                                       .end = end_sink,
                                       .stop = stop_sink,
                                       .leave = leave_sink,
                                       .destroy = destroy_sink};
    *out_sink = &pair->sink;
    *out_source = &pair->source;
    return 0;
}

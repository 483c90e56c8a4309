/* SPDX-License-Identifier: Apache-2.0 */
/* received_fd: streams over descriptors that another process chose. An operation on such a
 * descriptor may last as long as that process wants: it may read the bytes that poll has told of,
 * serve the file itself, or hold a lock of the pipe. So a thread of its own does all of it. The
 * user of the stream waits for that thread, and leaves it alone once the stream is stopped; it ends
 * when the kernel lets it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/thread.h"
#include "hub/channel/stream.h"

#define PIECE    (64U << 10)
#define THREADS  1024 /* those that were left alone count too */
#define PATIENCE (30 * HUB_SECOND)
#define WHY_SIZE 1024

/* The turn: the thread or the user has the buffer. */
enum turn { TURN_NONE, TURN_THREAD, TURN_USER };

struct relay {
    struct rapahub_source *from; /* over the descriptor; one of the two */
    struct rapahub_sink *to;
    int fd;
    struct hub_a32 events; /* counts all changes; a futex */
    struct hub_a32 turn, stopped, closed, parts, holders;
    size_t size; /* asked for, or to be written */
    ssize_t
        result; /* the result of read or write; it and the next three are the user's in its turn */
    size_t taken; /* bytes of it */
    const char *rule;
    char why[WHY_SIZE];
    uint8_t buffer[PIECE];
};

struct received_source {
    struct rapahub_source face;
    struct relay *relay;
};

struct received_sink {
    struct rapahub_sink face;
    struct relay *relay;
    uint32_t parts; /* told so far */
};

/* Threads are bounded for the whole process. */
static struct hub_a32 *threads(void)
{
    static struct hub_a32 count;

    return &count;
}

static void tell(struct relay *relay)
{
    hub_add(&relay->events, 1);
    hub_futex_wake_private(&relay->events);
}

static void drop(struct relay *relay)
{
    if (hub_add(&relay->holders, UINT32_MAX) == 1)
        free(relay);
}

/* ---- the thread ---- */

static void note_part(void *user)
{
    struct relay *relay = user;

    hub_add(&relay->parts, 1);
    tell(relay);
}

static void carry_out(struct relay *relay)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();

    rapahub_clear_error();
    relay->taken = 0;
    relay->result = relay->from ? rapahub_source_read(relay->from, relay->buffer, relay->size)
                                : rapahub_sink_write(relay->to, relay->buffer, relay->size);
    relay->rule = last->rule;
    snprintf(relay->why, sizeof relay->why, "%s", last->text);
}

static void *run(void *user)
{
    struct relay *relay = user;

    for (;;) {
        uint32_t seen = hub_observe(&relay->events);

        if (hub_observe(&relay->closed) != 0)
            break;
        if (hub_observe(&relay->turn) == TURN_THREAD) {
            carry_out(relay);
            hub_publish(&relay->turn, TURN_USER);
            tell(relay);
        } else {
            (void)hub_futex_wait_private(&relay->events, seen, HUB_NEVER);
        }
    }
    rapahub_source_destroy(relay->from);
    rapahub_sink_destroy(relay->to);
    close(relay->fd);
    drop(relay);
    hub_add(threads(), UINT32_MAX);
    return NULL;
}

/* ---- the user ---- */

/* Waits until the thread has nothing to do. */
static int await(struct relay *relay, struct received_sink *sink, bool lasting)
{
    uint64_t deadline = lasting ? HUB_NEVER : hub_clock_after(PATIENCE);

    for (;;) {
        uint32_t seen = hub_observe(&relay->events), parts = hub_observe(&relay->parts);

        if (sink && parts != sink->parts) {
            sink->parts = parts;
            hub_stream_part(&sink->face);
        }
        if (hub_observe(&relay->turn) != TURN_THREAD)
            return 0;
        if (hub_observe(&relay->stopped) != 0)
            return rapahub_fail(RAPAHUB_ECANCELED, "", "stopped");
        if (hub_clock_left(deadline) == 0)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "a descriptor was not ready after 30 s");
        (void)hub_futex_wait_private(&relay->events, seen, deadline);
    }
}

static void begin(struct relay *relay, size_t size)
{
    relay->size = size < PIECE ? size : PIECE;
    hub_publish(&relay->turn, TURN_THREAD);
    tell(relay);
}

/* Ends the user's turn, and returns what the thread has said. */
static int take_code(struct relay *relay)
{
    hub_publish(&relay->turn, TURN_NONE);
    return relay->result < 0 ? rapahub_fail((int)relay->result, relay->rule, "%s", relay->why) : 0;
}

/* The stream was stopped in the middle, and goes on: that result is of no use. */
static bool was_stopped(const struct relay *relay)
{
    return relay->result == RAPAHUB_ECANCELED && hub_observe(&relay->stopped) == 0;
}

static ssize_t take_bytes(struct relay *relay, void *to, size_t size)
{
    size_t left = (size_t)relay->result - relay->taken, n = size < left ? size : left;

    memcpy(to, relay->buffer + relay->taken, n);
    relay->taken += n;
    if (n == left)
        hub_publish(&relay->turn, TURN_NONE);
    return (ssize_t)n;
}

/* The next read gets bytes that came after a stop. */
static ssize_t read_received(struct rapahub_source *face, void *to, size_t size)
{
    struct relay *relay = ((struct received_source *)(void *)face)->relay;

    for (;;) {
        int r = await(relay, NULL, face->lasting);

        if (r < 0)
            return r;
        if (hub_observe(&relay->turn) == TURN_NONE)
            begin(relay, size);
        else if (was_stopped(relay))
            hub_publish(&relay->turn, TURN_NONE);
        else
            return relay->result > 0 ? take_bytes(relay, to, size) : take_code(relay);
    }
}

/* An earlier write may have been left to the thread. */
static int settle(struct received_sink *sink)
{
    struct relay *relay = sink->relay;
    int r = await(relay, sink, sink->face.lasting);

    if (r < 0 || hub_observe(&relay->turn) == TURN_NONE)
        return r;
    if (!was_stopped(relay))
        return take_code(relay);
    hub_publish(&relay->turn, TURN_NONE);
    return 0;
}

static int write_received(struct rapahub_sink *face, const void *from, size_t size)
{
    struct received_sink *sink = (struct received_sink *)(void *)face;
    int r = settle(sink);

    for (size_t done = 0; r == 0 && done < size; done += sink->relay->size) {
        size_t left = size - done;

        memcpy(sink->relay->buffer, (const uint8_t *)from + done, left < PIECE ? left : PIECE);
        begin(sink->relay, left);
        r = await(sink->relay, sink, face->lasting);
        if (r == 0)
            r = take_code(sink->relay);
    }
    return r;
}

static void stop(struct relay *relay, bool stopped)
{
    if (relay->from)
        relay->from->stop(relay->from, stopped);
    else
        relay->to->stop(relay->to, stopped);
    hub_publish(&relay->stopped, stopped);
    tell(relay);
}

static void stop_source(struct rapahub_source *face, bool stopped)
{
    stop(((struct received_source *)(void *)face)->relay, stopped);
}

static void stop_sink(struct rapahub_sink *face, bool stopped)
{
    stop(((struct received_sink *)(void *)face)->relay, stopped);
}

/* The descriptor is the thread's from here on. */
static void leave(struct relay *relay)
{
    stop(relay, true);
    hub_publish(&relay->closed, 1);
    tell(relay);
    drop(relay);
}

static void free_source(struct rapahub_source *face)
{
    leave(((struct received_source *)(void *)face)->relay);
    free(face);
}

static void free_sink(struct rapahub_sink *face)
{
    leave(((struct received_sink *)(void *)face)->relay);
    free(face);
}

/* ---- made ---- */

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stream");
}

static int start(struct relay *relay)
{
    pthread_t thread;
    int r = -EAGAIN;

    if (hub_add(threads(), 1) < THREADS)
        r = hub_thread_start(&thread, run, relay);
    if (r == 0)
        return pthread_detach(thread);
    hub_add(threads(), UINT32_MAX);
    return rapahub_fail(RAPAHUB_EBUSY, "hub.descriptor.waits",
                        "no thread for a stream over a descriptor that was received: %s",
                        rapahub_error_text(r));
}

/* Makes what reads from the descriptor, or writes to it: that does nothing with it yet. */
static int make(int fd, bool source, struct relay **out)
{
    struct relay *relay = calloc(1, sizeof *relay);
    int r = relay ? 0 : no_memory();

    if (r == 0)
        r = source ? rapahub_source_of_fd(fd, &relay->from) : rapahub_sink_of_fd(fd, &relay->to);
    if (r < 0) {
        free(relay);
        return r;
    }
    if (source) {
        relay->from->lasting = true; /* the user watches the time */
    } else {
        relay->to->lasting = true;
        relay->to->on_part = note_part;
        relay->to->user = relay;
    }
    relay->fd = fd;
    hub_store_relaxed(&relay->holders, 2);
    r = start(relay);
    if (r < 0) {
        rapahub_source_destroy(relay->from);
        rapahub_sink_destroy(relay->to);
        free(relay);
        return r;
    }
    *out = relay;
    return 0;
}

/* r[impl hub.descriptor.waits] */
int rapahub_source_of_received_fd(int *fd, struct rapahub_source **out)
{
    struct received_source *source = calloc(1, sizeof *source);
    int r = source ? make(*fd, true, &source->relay) : no_memory();

    if (r < 0) {
        free(source);
        return r;
    }
    source->face =
        (struct rapahub_source){.read = read_received, .stop = stop_source, .destroy = free_source};
    *fd = -1;
    *out = &source->face;
    return 0;
}

/* r[impl hub.descriptor.waits] */
int rapahub_sink_of_received_fd(int *fd, struct rapahub_sink **out)
{
    struct received_sink *sink = calloc(1, sizeof *sink);
    int r = sink ? make(*fd, false, &sink->relay) : no_memory();

    if (r < 0) {
        free(sink);
        return r;
    }
    sink->face =
        (struct rapahub_sink){.write = write_received, .stop = stop_sink, .destroy = free_sink};
    *fd = -1;
    *out = &sink->face;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/pump.h"

#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"

#define PIECE_MOST (512U << 10)          /* bytes from a source that lends them */
#define QUICK      (5 * HUB_MILLISECOND) /* for a piece: a larger one may follow */

struct hub_pump {
    struct hub_pump_options options;
    size_t lent; /* bytes at once, from a source that lends them */
    struct hub_a32 stopped, over;
    struct hub_a32 left; /* its thread is done with it; a futex */
    int code;
    bool at_source; /* it failed there */
    const char *rule;
    char why[1024];
    uint8_t buffer[];
};

static bool is_stopped(const struct hub_pump *pump)
{
    return hub_observe(&pump->stopped) != 0;
}

/* Returns the next bytes: in place from a source that lends them, else in the buffer. */
static ssize_t next(struct hub_pump *pump, const void **data)
{
    struct rapahub_source *source = pump->options.source;

    if (source->lend)
        return source->lend(source, data);
    *data = pump->buffer;
    return source->read(source, pump->buffer, pump->options.piece);
}

/* If the sink is slow the pieces are small: so its reader is seen to be slow, and the window
 * stays. */
static void choose_piece(struct hub_pump *pump, uint64_t begun)
{
    bool quick = hub_clock_now() - begun < QUICK;

    pump->lent = !quick                        ? pump->options.piece
                 : pump->lent < PIECE_MOST / 2 ? 2 * pump->lent
                                               : PIECE_MOST;
}

static int pass_on(struct hub_pump *pump, const void *data, size_t size)
{
    struct rapahub_source *source = pump->options.source;
    size_t piece = !source->lend || size < pump->lent ? size : pump->lent;
    uint64_t begun = source->lend ? hub_clock_now() : 0;
    int r = rapahub_sink_write(pump->options.sink, data, piece);

    if (source->lend) {
        source->take(source, piece);
        choose_piece(pump, begun);
    }
    return r;
}

static int move(struct hub_pump *pump)
{
    while (!is_stopped(pump)) {
        const void *data;
        ssize_t n = next(pump, &data);
        int r = n > 0 ? pass_on(pump, data, (size_t)n) : 0;

        pump->at_source = n < 0;
        if (n >= 0 && pump->options.moved)
            *pump->options.moved = true;
        if (n <= 0 || r < 0)
            return n < 0 ? (int)n : n == 0 ? rapahub_sink_end(pump->options.sink) : r;
        pump->options.on_moved(pump->options.user);
    }
    return rapahub_fail(RAPAHUB_ECANCELED, "", "the stream was stopped");
}

/* Nothing was moved of a stream that is spared. */
static bool is_spared(const struct hub_pump *pump, const void *stream)
{
    return stream == pump->options.spared && pump->options.moved && !*pump->options.moved;
}

static void keep_diagnosis(struct hub_pump *pump)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    bool said = last->code == pump->code;

    pump->rule = said ? last->rule : "";
    snprintf(pump->why, sizeof pump->why, "%s", said ? last->text : rapahub_error_text(pump->code));
}

/* A thread's diagnosis of an earlier stream must not be reported for this one. */
static void run(void *user)
{
    struct hub_pump *pump = user;
    struct rapahub_source *source = pump->options.source;
    struct rapahub_sink *sink = pump->options.sink;

    rapahub_clear_error();
    sink->on_part = pump->options.on_moved;
    sink->user = pump->options.user;
    pump->code = move(pump);
    sink->on_part = NULL;
    if (pump->code < 0) {
        keep_diagnosis(pump);
        if (sink->leave && !is_spared(pump, sink))
            sink->leave(sink);
    }
    if (source->leave && !is_spared(pump, source))
        source->leave(source);
    hub_publish(&pump->over, 1);
    pump->options.on_end(pump->options.user);
    hub_publish(&pump->left, 1);
    hub_futex_wake_private(&pump->left);
}

int hub_pump_start(const struct hub_pump_options *options, struct hub_pump **out)
{
    struct hub_pump *pump = malloc(sizeof *pump + (options->source->lend ? 0 : options->piece));
    int r;

    if (!pump)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory to move a stream");
    *pump = (struct hub_pump){.options = *options, .lent = options->piece};
    r = hub_thread_pool_run(options->pool, run, pump);
    if (r < 0) {
        free(pump);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no thread to move a stream: %s",
                            rapahub_error_text(r)); /* -EAGAIN would mean: try the call again */
    }
    *out = pump;
    return 0;
}

/* Ends the waits of the streams, or allows them again. */
static void set_stopped(struct hub_pump *pump, bool stopped)
{
    struct rapahub_source *source = pump->options.source;
    struct rapahub_sink *sink = pump->options.sink;

    if (source->stop)
        source->stop(source, stopped);
    if (sink->stop)
        sink->stop(sink, stopped);
}

void hub_pump_stop(struct hub_pump *pump)
{
    hub_publish(&pump->stopped, 1);
    set_stopped(pump, true);
}

int hub_pump_join(struct hub_pump **pointer, bool *at_source)
{
    struct hub_pump *pump = *pointer;
    int code;

    while (hub_observe(&pump->left) == 0)
        hub_futex_wait_private(&pump->left, 0, HUB_NEVER);
    if (is_stopped(pump))
        set_stopped(pump, false); /* the streams belong to their owner again */
    code = pump->code;
    *at_source = pump->at_source;
    if (code < 0)
        rapahub_fail(code, pump->rule, "%s", pump->why);
    free(pump);
    *pointer = NULL;
    return code;
}

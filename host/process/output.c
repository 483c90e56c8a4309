/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/printable.h"

#define BUDGET ((size_t)64 << 10)
#define PIECE  4096

/* Start of the line that the SDK writes about the signal, or the end of its thread, that ends its
 * guest. */
static const char last_words[] = "last words: ";

void host_output_escape(const char *text, size_t length, char *to, size_t size)
{
    (void)hub_printable_escape(text, length, "\t", to, size);
}

int host_output_open(struct host_output *output, struct host_loop *loop, int ends[2])
{
    *output =
        (struct host_output){.loop = loop, .line_max = HOST_OUTPUT_LINE, .rate = HOST_OUTPUT_RATE};
    ends[0] = ends[1] = -1;
    for (int i = 0; i < 2; i++)
        output->pipes[i].watch.fd = -1;
    for (int i = 0; i < 2; i++) {
        int pair[2];

        if (pipe2(pair, O_CLOEXEC) < 0) {
            int r = -errno;

            host_output_close(output);
            hub_fd_release(&ends[0]);
            ends[0] = -1;
            return rapahub_fail(r, "", "cannot make a pipe for a guest's output");
        }
        fcntl(pair[0], F_SETFL, O_NONBLOCK);
        output->pipes[i].output = output;
        output->pipes[i].watch.fd = pair[0];
        ends[i] = pair[1];
    }
    return 0;
}

static void close_pipe(struct host_output_pipe *pipe)
{
    if (pipe->watch.fd < 0)
        return;
    host_loop_unwatch(pipe->output->loop, &pipe->watch);
    close(pipe->watch.fd);
    pipe->watch.fd = -1;
}

void host_output_close(struct host_output *output)
{
    for (int i = 0; i < 2; i++)
        if (output->pipes[i].output)
            close_pipe(&output->pipes[i]);
}

static void tell_dropped(struct host_output *output)
{
    char text[64];

    if (output->dropped == 0)
        return;
    snprintf(text, sizeof text, "(%u more lines within a second)", output->dropped);
    output->dropped = 0;
    output->on_line(output->user, text);
}

/* In a flood almost no line is passed on, so this must cost next to nothing. */
static void note_last(struct host_output *output, const char *line, size_t size)
{
    output->last_size = size < sizeof output->last ? size : sizeof output->last;
    memcpy(output->last, line, output->last_size);
    if (size > strlen(last_words) && memcmp(line, last_words, strlen(last_words)) == 0)
        host_output_escape(line, size, output->words, sizeof output->words);
}

static void begin_second(struct host_output *output)
{
    uint64_t now = hub_clock_now();

    if (now - output->second_ns < HUB_SECOND)
        return;
    tell_dropped(output);
    output->second_ns = now;
    output->lines = 0;
}

static void hand_on(struct host_output *output, const char *line, size_t size)
{
    char text[HOST_OUTPUT_LINE];

    note_last(output, line, size);
    if (output->lines >= output->rate) {
        output->dropped++;
        output->dropped_all++;
        return;
    }
    output->lines++;
    host_output_escape(line, size, text, output->line_max);
    output->on_line(output->user, text);
}

static void end_line(struct host_output_pipe *pipe)
{
    hand_on(pipe->output, pipe->line, pipe->size);
    pipe->size = 0;
}

/* The rest of a line that is too long is dropped. */
static void add(struct host_output_pipe *pipe, const char *data, size_t size)
{
    size_t most = pipe->output->line_max;
    size_t room = pipe->size < most ? most - pipe->size : 0;

    if (size > room)
        size = room;
    memcpy(pipe->line + pipe->size, data, size);
    pipe->size += size;
}

static void take(struct host_output_pipe *pipe, const char *data, size_t size)
{
    const char *end = data + size, *newline;

    begin_second(pipe->output);
    for (; (newline = memchr(data, '\n', (size_t)(end - data))); data = newline + 1) {
        add(pipe, data, (size_t)(newline - data));
        end_line(pipe);
    }
    add(pipe, data, (size_t)(end - data));
}

/* Reads at most `budget` bytes, and closes the pipe at its end. */
static void read_pipe(struct host_output_pipe *pipe, size_t budget)
{
    char piece[PIECE];
    ssize_t n = 1;

    while (pipe->watch.fd >= 0 && budget >= sizeof piece) {
        n = read(pipe->watch.fd, piece, sizeof piece);
        if (n <= 0)
            break;
        take(pipe, piece, (size_t)n);
        budget -= sizeof piece;
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    if (pipe->size > 0)
        end_line(pipe);
    close_pipe(pipe);
}

static void on_readable(void *user, uint32_t events)
{
    (void)events;
    read_pipe(user, BUDGET / 2); /* r[impl supervise.log.flood] */
}

int host_output_watch(struct host_output *output)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++) {
        output->pipes[i].watch.on = on_readable;
        output->pipes[i].watch.user = &output->pipes[i];
        r = host_loop_watch(output->loop, &output->pipes[i].watch, EPOLLIN);
    }
    return r;
}

void host_output_last(const struct host_output *output, char *to, size_t size)
{
    host_output_escape(output->last, output->last_size, to, size);
}

bool host_output_finish(struct host_output *output)
{
    for (int i = 0; i < 2; i++)
        read_pipe(&output->pipes[i], 4 * BUDGET);
    tell_dropped(output);
    return output->pipes[0].watch.fd < 0 && output->pipes[1].watch.fd < 0;
}

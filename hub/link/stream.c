/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/stream.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

#define STREAM_PATIENCE (30 * HUB_SECOND)

struct fd_source {
    struct rapahub_source face;
    int fd;
};

struct fd_sink {
    struct rapahub_sink face;
    int fd;
};

struct memory_source {
    struct rapahub_source face;
    const uint8_t *at;
    size_t left;
};

struct memory_sink {
    struct rapahub_sink face;
    uint8_t *data;
    size_t size, capacity, max;
};

ssize_t rapahub_source_read(struct rapahub_source *from, void *to, size_t size)
{
    return from->read(from, to, size);
}

int rapahub_source_read_all(struct rapahub_source *from, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = from->read(from, (uint8_t *)to + done, size - done);

        if (n < 0)
            return (int)n;
        if (n == 0)
            return rapahub_fail(RAPAHUB_ERESET, "", "the stream ended after %zu of %zu bytes", done,
                                size);
        done += (size_t)n;
    }
    return 0;
}

int rapahub_sink_write(struct rapahub_sink *to, const void *from, size_t size)
{
    return to->write(to, from, size);
}

void rapahub_source_destroy(struct rapahub_source *source)
{
    if (source && source->destroy)
        source->destroy(source);
}

void rapahub_sink_destroy(struct rapahub_sink *sink)
{
    if (sink && sink->destroy)
        sink->destroy(sink);
}

static int wait_fd(int fd, short events, uint64_t deadline)
{
    struct pollfd one = {.fd = fd, .events = events};

    for (;;) {
        int n = poll(&one, 1, hub_clock_left_ms(deadline, 10000));

        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return rapahub_fail(-errno, "", "cannot wait for descriptor %d", fd);
        if (hub_clock_left(deadline) == 0)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "descriptor %d was not ready in 30 s", fd);
    }
}

static ssize_t read_fd(struct rapahub_source *source, void *to, size_t size)
{
    int fd = ((struct fd_source *)(void *)source)->fd;
    uint64_t deadline = hub_clock_after(STREAM_PATIENCE);

    for (;;) {
        ssize_t n = read(fd, to, size);
        int r;

        if (n >= 0)
            return n;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return rapahub_fail(-errno, "", "cannot read from descriptor %d", fd);
        r = wait_fd(fd, POLLIN, deadline);
        if (r < 0)
            return r;
    }
}

static int write_fd(struct rapahub_sink *sink, const void *from, size_t size)
{
    int fd = ((struct fd_sink *)(void *)sink)->fd;
    uint64_t deadline = hub_clock_after(STREAM_PATIENCE);

    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const uint8_t *)from + done, size - done);
        int r = 0;

        if (n >= 0) {
            done += (size_t)n;
            continue;
        }
        if (errno == EAGAIN)
            r = wait_fd(fd, POLLOUT, deadline);
        else if (errno != EINTR)
            r = rapahub_fail(-errno, "", "cannot write to descriptor %d", fd);
        if (r < 0)
            return r;
    }
    return 0;
}

static void free_source(struct rapahub_source *source)
{
    free(source);
}

static void free_sink(struct rapahub_sink *sink)
{
    free(sink);
}

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stream");
}

int rapahub_source_of_fd(int fd, struct rapahub_source **out)
{
    struct fd_source *source = calloc(1, sizeof *source);

    if (!source)
        return no_memory();
    *source = (struct fd_source){{read_fd, free_source}, fd};
    *out = &source->face;
    return 0;
}

int rapahub_sink_of_fd(int fd, struct rapahub_sink **out)
{
    struct fd_sink *sink = calloc(1, sizeof *sink);

    if (!sink)
        return no_memory();
    *sink = (struct fd_sink){{write_fd, free_sink}, fd};
    *out = &sink->face;
    return 0;
}

static ssize_t read_memory(struct rapahub_source *source, void *to, size_t size)
{
    struct memory_source *memory = (struct memory_source *)(void *)source;
    size_t n = size < memory->left ? size : memory->left;

    if (n == 0)
        return 0;
    memcpy(to, memory->at, n);
    memory->at += n;
    memory->left -= n;
    return (ssize_t)n;
}

int rapahub_source_of_memory(const void *data, size_t size, struct rapahub_source **out)
{
    struct memory_source *source = calloc(1, sizeof *source);

    if (!source)
        return no_memory();
    *source = (struct memory_source){{read_memory, free_source}, data, size};
    *out = &source->face;
    return 0;
}

static int grow(struct memory_sink *sink, size_t size)
{
    size_t capacity = sink->capacity ? sink->capacity : 4096;
    uint8_t *data;

    while (capacity < size)
        capacity *= 2;
    data = realloc(sink->data, capacity);
    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stream of %zu bytes", size);
    sink->data = data;
    sink->capacity = capacity;
    return 0;
}

static int write_memory(struct rapahub_sink *face, const void *from, size_t size)
{
    struct memory_sink *sink = (struct memory_sink *)(void *)face;
    int r = 0;

    if (size > sink->max - sink->size)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "the stream may hold %zu bytes, not %zu more",
                            sink->max, size);
    if (sink->size + size > sink->capacity)
        r = grow(sink, sink->size + size);
    if (r < 0)
        return r;
    if (size > 0)
        memcpy(sink->data + sink->size, from, size);
    sink->size += size;
    return 0;
}

static void free_memory_sink(struct rapahub_sink *face)
{
    free(((struct memory_sink *)(void *)face)->data);
    free(face);
}

int rapahub_sink_of_memory(size_t max, struct rapahub_sink **out)
{
    struct memory_sink *sink = calloc(1, sizeof *sink);

    if (!sink)
        return no_memory();
    *sink = (struct memory_sink){.face = {write_memory, free_memory_sink}, .max = max};
    *out = &sink->face;
    return 0;
}

const void *rapahub_sink_data(const struct rapahub_sink *face, size_t *size)
{
    const struct memory_sink *sink = (const struct memory_sink *)(const void *)face;

    if (face->write != write_memory) {
        *size = 0;
        return NULL;
    }
    *size = sink->size;
    return sink->data;
}

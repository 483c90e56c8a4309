/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/stream.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/base/line.h"

#define STREAM_PATIENCE (30 * HUB_SECOND)

/* How much a descriptor accepts or gives without waiting, after a poll that said it would: a file
 * everything; a socket reports it; another may be asked to report it, and else accepts little. The
 * first thread that reads or writes finds out the kind, as that may wait. */
enum fd_kind { FD_UNSEEN, FD_FILE, FD_SOCKET, FD_ASKED, FD_OTHER };

struct fd_source {
    struct rapahub_source face;
    int fd, stopped; /* an eventfd */
    enum fd_kind kind;
};

struct fd_sink {
    struct rapahub_sink face;
    int fd, stopped;
    struct hub_a32 halted; /* the same as `stopped`, readable without a system call */
    enum fd_kind kind;
};

struct memory_source {
    struct rapahub_source face;
    const uint8_t *at;
    size_t left;
};

struct memory_sink {
    struct rapahub_sink face;
    uint8_t *memory, *data; /* the content begins at a line, which moves when the memory does */
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

int rapahub_sink_cork(struct rapahub_sink *sink, bool corked)
{
    return sink->cork ? sink->cork(sink, corked) : 0;
}

int rapahub_sink_end(struct rapahub_sink *to)
{
    return to->end ? to->end(to) : 0;
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

/* Returns a readable name of the descriptor: a path, or "pipe:[7]". */
static const char *name_of(int fd, char name[PATH_MAX])
{
    char link[32];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, name, PATH_MAX - 1);
    if (n < 0)
        n = snprintf(name, PATH_MAX, "descriptor %d", fd);
    name[n] = '\0';
    return name;
}

static int fail_at(int code, const char *what, int fd)
{
    char name[PATH_MAX];

    return rapahub_fail(code, "", "%s %s", what, name_of(fd, name));
}

/* An end of a descriptor's stream. */
struct ready {
    int fd, stopped;
    short events;
    uint64_t deadline;
};

/* Returns 0 as soon as the descriptor can be used. */
static int wait_fd(const struct ready *ready)
{
    struct pollfd both[] = {{.fd = ready->fd, .events = ready->events},
                            {.fd = ready->stopped, .events = POLLIN}};

    for (;;) {
        int n = poll(both, 2, hub_clock_left_ms(ready->deadline, 10000));

        if (n > 0)
            return both[1].revents == 0 ? 0 : rapahub_fail(RAPAHUB_ECANCELED, "", "stopped");
        if (n < 0 && errno != EINTR)
            return fail_at(-errno, "cannot wait for", ready->fd);
        if (hub_clock_left(ready->deadline) == 0)
            return fail_at(RAPAHUB_ETIMEDOUT, "after 30 s not ready:", ready->fd);
    }
}

static enum fd_kind kind_of(int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return FD_OTHER;
    return S_ISSOCK(status.st_mode) ? FD_SOCKET : S_ISREG(status.st_mode) ? FD_FILE : FD_ASKED;
}

/* Not every kernel and every file can do it without waiting: then it is not asked again. */
static bool cannot_be_asked(void)
{
    return errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS || errno == EPERM;
}

/* Another process may have read meanwhile the bytes that poll told of. */
static ssize_t read_some(struct fd_source *source, void *to, size_t size)
{
    const struct iovec all = {to, size};

    if (source->kind == FD_UNSEEN)
        source->kind = kind_of(source->fd);
    if (source->kind == FD_SOCKET)
        return recv(source->fd, to, size, MSG_DONTWAIT);
    if (source->kind == FD_ASKED) {
        ssize_t n = preadv2(source->fd, &all, 1, -1, RWF_NOWAIT);

        if (n >= 0 || !cannot_be_asked())
            return n;
        source->kind = FD_OTHER;
    }
    return read(source->fd, to, size);
}

static ssize_t read_fd(struct rapahub_source *face, void *to, size_t size)
{
    struct fd_source *source = (struct fd_source *)(void *)face;
    const struct ready ready = {source->fd, source->stopped, POLLIN,
                                face->lasting ? HUB_NEVER : hub_clock_after(STREAM_PATIENCE)};

    for (;;) {
        int r = wait_fd(&ready);
        ssize_t n = r < 0 ? r : read_some(source, to, size);

        if (r < 0 || n >= 0)
            return n;
        if (errno != EINTR && errno != EAGAIN)
            return fail_at(-errno, "cannot read from", source->fd);
    }
}

/* A pipe that poll found writable accepts PIPE_BUF bytes without waiting, and perhaps no more. */
static ssize_t write_some(struct fd_sink *sink, const uint8_t *from, size_t size)
{
    const struct iovec all = {(void *)(uintptr_t)from, size};

    if (sink->kind == FD_SOCKET)
        return send(sink->fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sink->kind == FD_ASKED) {
        ssize_t n = pwritev2(sink->fd, &all, 1, -1, RWF_NOWAIT);

        if (n >= 0 || !cannot_be_asked())
            return n;
        sink->kind = FD_OTHER;
        errno = EAGAIN;
        return -1;
    }
    if (sink->kind == FD_OTHER && size > PIPE_BUF)
        size = PIPE_BUF;
    return write(sink->fd, from, size);
}

/* A descriptor that reports itself that it is full is not polled first. */
static bool must_wait(const struct fd_sink *sink)
{
    return sink->kind == FD_OTHER || hub_observe(&sink->halted) != 0;
}

static int write_fd(struct rapahub_sink *face, const void *from, size_t size)
{
    struct fd_sink *sink = (struct fd_sink *)(void *)face;
    const struct ready ready = {sink->fd, sink->stopped, POLLOUT,
                                face->lasting ? HUB_NEVER : hub_clock_after(STREAM_PATIENCE)};
    bool waits = false;

    if (sink->kind == FD_UNSEEN)
        sink->kind = kind_of(sink->fd);
    for (size_t done = 0; done < size;) {
        int r = waits || must_wait(sink) ? wait_fd(&ready) : 0;
        ssize_t n = r < 0 ? r : write_some(sink, (const uint8_t *)from + done, size - done);

        if (r < 0)
            return r;
        if (n >= 0) {
            done += (size_t)n;
            hub_stream_part(face);
        } else if (errno != EINTR && errno != EAGAIN) {
            return fail_at(-errno, "cannot write to", sink->fd);
        }
        waits = n < 0;
    }
    return 0;
}

static void set_stopped(int event, bool stopped)
{
    uint64_t count = 1;

    if (stopped)
        (void)!write(event, &count, sizeof count);
    else
        (void)!read(event, &count, sizeof count);
}

static void stop_source(struct rapahub_source *face, bool stopped)
{
    set_stopped(((struct fd_source *)(void *)face)->stopped, stopped);
}

static void stop_sink(struct rapahub_sink *face, bool stopped)
{
    struct fd_sink *sink = (struct fd_sink *)(void *)face;

    hub_publish(&sink->halted, stopped);
    set_stopped(sink->stopped, stopped);
}

static void free_fd_source(struct rapahub_source *face)
{
    close(((struct fd_source *)(void *)face)->stopped);
    free(face);
}

static void free_fd_sink(struct rapahub_sink *face)
{
    close(((struct fd_sink *)(void *)face)->stopped);
    free(face);
}

static void free_source(struct rapahub_source *source)
{
    free(source);
}

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stream");
}

static int open_stopped(int *out)
{
    *out = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *out < 0 ? rapahub_fail(-errno, "", "cannot make an eventfd for a stream") : 0;
}

int rapahub_source_of_fd(int fd, struct rapahub_source **out)
{
    struct fd_source *source = calloc(1, sizeof *source);
    int r = source ? open_stopped(&source->stopped) : no_memory();

    if (r < 0) {
        free(source);
        return r;
    }
    source->face =
        (struct rapahub_source){.read = read_fd, .stop = stop_source, .destroy = free_fd_source};
    source->fd = fd;
    *out = &source->face;
    return 0;
}

int rapahub_sink_of_fd(int fd, struct rapahub_sink **out)
{
    struct fd_sink *sink = calloc(1, sizeof *sink);
    int r = sink ? open_stopped(&sink->stopped) : no_memory();

    if (r < 0) {
        free(sink);
        return r;
    }
    sink->face =
        (struct rapahub_sink){.write = write_fd, .stop = stop_sink, .destroy = free_fd_sink};
    sink->fd = fd;
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
    *source = (struct memory_source){
        .face = {.read = read_memory, .destroy = free_source}, .at = data, .left = size};
    *out = &source->face;
    return 0;
}

/* r[impl hub.bytes.align] */
static int grow(struct memory_sink *sink, size_t size)
{
    size_t capacity = sink->capacity ? sink->capacity : 4096;
    size_t at = (size_t)(sink->data - sink->memory);
    uint8_t *memory;

    while (capacity < size)
        capacity *= 2;
    memory = realloc(sink->memory, capacity + HUB_LINE);
    if (!memory)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a stream of %zu bytes", size);
    sink->memory = memory;
    sink->data = hub_line_next(memory);
    if (sink->data != memory + at)
        memmove(sink->data, memory + at, sink->size);
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
    free(((struct memory_sink *)(void *)face)->memory);
    free(face);
}

int rapahub_sink_of_memory(size_t max, struct rapahub_sink **out)
{
    struct memory_sink *sink = calloc(1, sizeof *sink);

    if (!sink)
        return no_memory();
    *sink = (struct memory_sink){.face = {.write = write_memory, .destroy = free_memory_sink},
                                 .max = max};
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

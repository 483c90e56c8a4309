/* SPDX-License-Identifier: Apache-2.0 */
/* flow: methods that read and write streams, well and badly. */
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#define PIECE 10000

static unsigned char pattern(uint64_t at)
{
    return (unsigned char)(at * 31 + at / 251);
}

/* How many bytes there are, all of the pattern: else -EBADMSG's place. */
static int flow_drain(void *self, struct rapahub_source *from, uint64_t *count)
{
    unsigned char piece[PIECE];
    ssize_t n;

    (void)self;
    *count = 0;
    while ((n = rapahub_source_read(from, piece, sizeof piece)) > 0)
        for (ssize_t i = 0; i < n; i++, ++*count)
            if (piece[i] != pattern(*count))
                return rapahub_fail(RAPAHUB_EIO, "", "byte %llu is wrong",
                                    (unsigned long long)*count);
    return (int)n;
}

static int flow_fill(void *self, struct rapahub_sink *to, uint64_t count)
{
    unsigned char piece[PIECE];
    int r = 0;

    (void)self;
    for (uint64_t done = 0; r == 0 && done < count;) {
        size_t size = count - done < sizeof piece ? (size_t)(count - done) : sizeof piece;

        for (size_t i = 0; i < size; i++)
            piece[i] = pattern(done + i);
        r = rapahub_sink_write(to, piece, size);
        done += size;
    }
    return r;
}

/* Writes byte by byte: only later events show the last of them, at times a wait, finally the
 * answer. */
static int flow_trickle(void *self, struct rapahub_sink *to, uint64_t count)
{
    int r = rapahub_sink_cork(to, true);

    (void)self;
    for (uint64_t i = 0; r == 0 && i < count; i++) {
        unsigned char byte = pattern(i);

        r = rapahub_sink_write(to, &byte, 1);
        if (r == 0 && i % 1000 == 999)
            r = rapahub_sink_cork(to, false);
        if (r == 0 && i % 1000 == 999)
            r = rapahub_sink_cork(to, true);
    }
    return r;
}

static int flow_copy(void *self, struct rapahub_source *from, struct rapahub_sink *to,
                     uint64_t *count)
{
    unsigned char piece[PIECE];
    ssize_t n;
    int r = 0;

    (void)self;
    *count = 0;
    while (r == 0 && (n = rapahub_source_read(from, piece, sizeof piece)) != 0) {
        r = n < 0 ? (int)n : rapahub_sink_write(to, piece, (size_t)n);
        *count += n > 0 ? (uint64_t)n : 0;
    }
    return r;
}

/* Reads a little, and has enough. */
static int flow_peek(void *self, struct rapahub_source *from, uint64_t *first)
{
    unsigned char byte = 0;
    int r = rapahub_source_read_all(from, &byte, 1);

    (void)self;
    *first = byte;
    return r;
}

/* Reads and writes a little, then fails. */
static int flow_fail(void *self, struct rapahub_source *from, struct rapahub_sink *to)
{
    unsigned char piece[PIECE];
    int r = rapahub_source_read_all(from, piece, 100);

    (void)self;
    if (r == 0)
        r = rapahub_sink_write(to, piece, 100);
    return r == 0 ? rapahub_fail(RAPAHUB_EINVAL, "", "enough of it") : r;
}

static int flow_die(void *self, struct rapahub_source *from)
{
    unsigned char byte;

    (void)self;
    _exit(rapahub_source_read_all(from, &byte, 1) == 0 ? 3 : 4);
}

/* Hands its own streams on to `copy` of another container. */
static int flow_relay(void *self, struct rapahub_source *from, struct rapahub_sink *to,
                      uint32_t pool, uint64_t *count)
{
    const struct rapahub_call call = {.target = {.pool = {pool, 0}},
                                      .method = "copy",
                                      .types = RAPAHUB_TYPES(u64, source, sink),
                                      .arguments = (const void *const[]){&from, &to, NULL}};

    (void)self;
    return rapahub_chimod_call(&call, count);
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(drain, flow_drain, u64, source),
    RAPAHUB_METHOD(fill, flow_fill, void, sink, u64),
    RAPAHUB_METHOD(trickle, flow_trickle, void, sink, u64),
    RAPAHUB_METHOD(copy, flow_copy, u64, source, sink),
    RAPAHUB_METHOD(peek, flow_peek, u64, source),
    RAPAHUB_METHOD(fail, flow_fail, void, source, sink),
    RAPAHUB_METHOD(die, flow_die, void, source),
    RAPAHUB_METHOD(relay, flow_relay, u64, source, sink, u32),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "flow", .version = "1", .methods = methods);

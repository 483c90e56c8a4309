/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/grpc_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/printable.h"

#define PREFIX    5
#define ROOM_LEAD ((size_t)16 << 10) /* a message has it at first */

struct cluster_grpc_stream *cluster_grpc_stream_create(void *user, size_t answer_max)
{
    struct cluster_grpc_stream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "a request to etcd: out of memory");
        return NULL;
    }
    hub_list_init(&stream->link);
    stream->user = user;
    stream->answer_max = answer_max;
    return stream;
}

void cluster_grpc_stream_free(struct cluster_grpc_stream *stream)
{
    hub_list_remove(&stream->link);
    free(stream->out);
    free(stream->in);
    free(stream);
}

/* ---- to be sent ---- */

static void put_prefix(uint8_t *to, size_t size)
{
    to[0] = 0; /* not compressed */
    to[1] = (uint8_t)(size >> 24);
    to[2] = (uint8_t)(size >> 16);
    to[3] = (uint8_t)(size >> 8);
    to[4] = (uint8_t)size;
}

int cluster_grpc_stream_put(struct cluster_grpc_stream *stream, struct rapahub_bytes message)
{
    size_t left = stream->out_size - stream->out_at;
    uint8_t *out;

    if (message.size > CLUSTER_GRPC_STREAM_OUT_MOST ||
        left + PREFIX + message.size > CLUSTER_GRPC_STREAM_OUT_MOST)
        return rapahub_fail(RAPAHUB_EBUSY, "", "a request to etcd: %zu bytes wait to be sent",
                            left);
    out = malloc(left + PREFIX + message.size);
    if (!out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a request to etcd: out of memory");
    if (left > 0)
        memcpy(out, stream->out + stream->out_at, left);
    put_prefix(out + left, message.size);
    if (message.size > 0)
        memcpy(out + left + PREFIX, message.data, message.size);
    free(stream->out);
    stream->out = out;
    stream->out_at = 0;
    stream->out_size = left + PREFIX + message.size;
    return 0;
}

size_t cluster_grpc_stream_take(struct cluster_grpc_stream *stream, uint8_t *to, size_t room)
{
    size_t left = stream->out_size - stream->out_at, size = left < room ? left : room;

    if (size > 0)
        memcpy(to, stream->out + stream->out_at, size);
    stream->out_at += size;
    if (stream->out_at == stream->out_size) {
        free(stream->out);
        stream->out = NULL;
        stream->out_at = stream->out_size = 0;
    }
    return size;
}

/* ---- headers ---- */

static bool is(struct rapahub_bytes name, const char *text)
{
    return name.size == strlen(text) && memcmp(name.data, text, name.size) == 0;
}

/* A number of at most 9 digits; else `other`. */
static uint32_t number_of(struct rapahub_bytes value, uint32_t other)
{
    const uint8_t *digits = value.data;
    uint32_t number = 0;

    if (value.size == 0 || value.size > 9)
        return other;
    for (size_t i = 0; i < value.size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return other;
        number = number * 10 + (uint32_t)(digits[i] - '0');
    }
    return number;
}

static void note_text(struct cluster_grpc_stream *stream, struct rapahub_bytes value)
{
    size_t size = value.size < sizeof stream->text ? value.size : sizeof stream->text - 1;

    if (size > 0)
        memcpy(stream->text, value.data, size);
    stream->text[size] = '\0';
    hub_printable_mend(stream->text);
}

void cluster_grpc_stream_header(struct cluster_grpc_stream *stream, struct rapahub_bytes name,
                                struct rapahub_bytes value)
{
    if (is(name, ":status")) {
        stream->http_status = number_of(value, 0);
    } else if (is(name, "grpc-status")) {
        stream->status = number_of(value, 2); /* in gRPC: it is not known what failed */
        stream->has_status = true;
    } else if (is(name, "grpc-message")) {
        note_text(stream, value);
    }
}

/* ---- messages that come ---- */

static size_t size_of(const struct cluster_grpc_stream *stream)
{
    const uint8_t *prefix = stream->prefix;

    return (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 | prefix[4];
}

/* The message needs room for so many bytes more, of those that it is to have. */
static int make_room(struct cluster_grpc_stream *stream, size_t more)
{
    size_t room = stream->in_room > 0 ? stream->in_room : ROOM_LEAD;
    uint8_t *in;

    if (stream->in_size + more <= stream->in_room)
        return 0;
    while (room < stream->in_size + more)
        room *= 2;
    in = realloc(stream->in, room);
    if (!in)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "an answer of etcd: out of memory");
    stream->in = in;
    stream->in_room = room;
    return 0;
}

/* Returns how many bytes of the prefix were taken. */
static int64_t feed_prefix(struct cluster_grpc_stream *stream, struct rapahub_bytes bytes)
{
    size_t size = PREFIX - (size_t)stream->prefix_size;

    if (size > bytes.size)
        size = bytes.size;
    if (size > 0)
        memcpy(stream->prefix + stream->prefix_size, bytes.data, size);
    stream->prefix_size = (uint8_t)(stream->prefix_size + size);
    if (stream->prefix_size < PREFIX)
        return (int64_t)size;
    if (stream->prefix[0] != 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.hostile",
                            "etcd compresses a message, which it was not asked for");
    if (size_of(stream) > stream->answer_max) {
        stream->too_large = true;
        return -EMSGSIZE;
    }
    stream->in_size = 0;
    return (int64_t)size;
}

static int64_t feed_body(struct cluster_grpc_stream *stream, struct rapahub_bytes bytes)
{
    size_t size = size_of(stream) - stream->in_size;
    int r;

    if (size > bytes.size)
        size = bytes.size;
    r = make_room(stream, size);
    if (r < 0)
        return r;
    if (size > 0)
        memcpy(stream->in + stream->in_size, bytes.data, size);
    stream->in_size += size;
    return (int64_t)size;
}

/* r[impl cluster.store.etcd.hostile] */
int64_t cluster_grpc_stream_feed(struct cluster_grpc_stream *stream, struct rapahub_bytes bytes,
                                 struct rapahub_bytes *out_message, bool *out_whole)
{
    int64_t head = 0, body;

    *out_whole = false;
    if (stream->prefix_size < PREFIX)
        head = feed_prefix(stream, bytes);
    if (head < 0 || stream->prefix_size < PREFIX)
        return head;
    bytes.data = (const uint8_t *)bytes.data + head;
    bytes.size -= (size_t)head;
    body = feed_body(stream, bytes);
    if (body < 0)
        return body;
    if (stream->in_size == size_of(stream)) {
        *out_message = (struct rapahub_bytes){stream->in, stream->in_size};
        *out_whole = true;
        stream->prefix_size = 0;
    }
    return head + body;
}

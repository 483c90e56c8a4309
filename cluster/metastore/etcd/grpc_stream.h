/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_stream: a call by gRPC on a stream of HTTP/2: its messages in both directions, each after a
 * prefix of 5 bytes, and how it ended. A message grows with the bytes that have come, not with the
 * size that it claims. No sockets, no clock. For one thread.
 */
#ifndef CLUSTER_METASTORE_ETCD_GRPC_STREAM_H
#define CLUSTER_METASTORE_ETCD_GRPC_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/list.h"

#define CLUSTER_GRPC_STREAM_TEXT     256               /* for a failure, with its end */
#define CLUSTER_GRPC_STREAM_OUT_MOST ((size_t)8 << 20) /* bytes that wait to be sent */

struct cluster_grpc_stream {
    struct hub_list link;
    int32_t id;
    void *user;
    bool stays_open; /* more messages may follow */
    bool too_large;  /* a message was to come that is larger than answer_max */

    uint8_t *out; /* to be sent: out_at of out_size were */
    size_t out_at, out_size;

    uint8_t prefix[5]; /* before the message that comes */
    uint8_t prefix_size;
    uint8_t *in;
    size_t in_size, in_room, answer_max;

    uint32_t http_status, status; /* status: of gRPC */
    bool has_status;
    char text[CLUSTER_GRPC_STREAM_TEXT];
};

/* NULL without memory, with a diagnosis. */
struct cluster_grpc_stream *cluster_grpc_stream_create(void *user, size_t answer_max);
void cluster_grpc_stream_free(struct cluster_grpc_stream *stream);

/* Adds a message to those that are to be sent. -EBUSY: too much waits; -ENOMEM. */
int cluster_grpc_stream_put(struct cluster_grpc_stream *stream, struct rapahub_bytes message);

/* Takes the next bytes to be sent, at most `room`. */
size_t cluster_grpc_stream_take(struct cluster_grpc_stream *stream, uint8_t *to, size_t room);

/* Looks at a header that came. Others than it knows are left out. */
void cluster_grpc_stream_header(struct cluster_grpc_stream *stream, struct rapahub_bytes name,
                                struct rapahub_bytes value);

/* Takes bytes that came, up to the end of the first message. Returns how many it took, and the
 * message once it is whole: a view until the next call. RAPAHUB_EPROTOCOL: it is compressed, which
 * was not asked for; -EMSGSIZE, without a diagnosis: it is too large, which the stream notes;
 * -ENOMEM. */
int64_t cluster_grpc_stream_feed(struct cluster_grpc_stream *stream, struct rapahub_bytes bytes,
                                 struct rapahub_bytes *out_message, bool *out_whole);

#endif

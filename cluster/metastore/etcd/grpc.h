/* SPDX-License-Identifier: Apache-2.0 */
/* grpc: the client's side of gRPC over HTTP/2, by nghttp2, without a socket and a clock: bytes that
 * came go in, bytes to be sent go out. A stream of HTTP/2 for each call; each call ends once, but
 * those that are cancelled or open when the session is released. For one thread.
 */
#ifndef CLUSTER_METASTORE_ETCD_GRPC_H
#define CLUSTER_METASTORE_ETCD_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

struct cluster_grpc;

enum cluster_grpc_status { /* the numbers of gRPC that are told apart */
                           CLUSTER_GRPC_OK = 0,
                           CLUSTER_GRPC_UNKNOWN = 2,
                           CLUSTER_GRPC_INVALID_ARGUMENT = 3,
                           CLUSTER_GRPC_PERMISSION_DENIED = 7,
                           CLUSTER_GRPC_RESOURCE_EXHAUSTED = 8,
                           CLUSTER_GRPC_FAILED_PRECONDITION = 9,
                           CLUSTER_GRPC_OUT_OF_RANGE = 11,
                           CLUSTER_GRPC_UNIMPLEMENTED = 12,
                           CLUSTER_GRPC_UNAVAILABLE = 14,
                           CLUSTER_GRPC_DATA_LOSS = 15,
                           CLUSTER_GRPC_UNAUTHENTICATED = 16,
};

/* How a call ended. `refused`: the other side has certainly not looked at it. `too_large`: a
 * message was to come that is larger than the caller takes. The text is of the other side,
 * printable, and good until the hook returns. */
struct cluster_grpc_end {
    uint32_t status;
    bool refused, too_large;
    const char *text;
};

/* Upwards, from inside of cluster_grpc_receive: a constant table. The hooks may call and
 * send. A failure of `message`, with its diagnosis, is that of cluster_grpc_receive. */
struct cluster_grpc_hooks {
    int (*message)(void *user, void *call, struct rapahub_bytes message);
    void (*ended)(void *user, void *call, const struct cluster_grpc_end *end);
};

struct cluster_grpc_request {
    const char *path;             /* "/etcdserverpb.KV/Range"; lives as long as the session */
    struct rapahub_bytes message; /* the first one */
    size_t answer_max;            /* bytes of a message that comes */
    bool stays_open;              /* more messages may follow */
};

/* `authority`: the host and port that are called, at most 255 bytes. -ENOMEM. */
int cluster_grpc_create(const struct cluster_grpc_hooks *hooks, void *user, const char *authority,
                        struct cluster_grpc **out);
void cluster_grpc_release(struct cluster_grpc **grpc);

/* Begins a call; `call` is handed to the hooks, *out is its stream. -EBUSY: it takes no more calls,
 * or the message is too large; -ENOMEM. */
int cluster_grpc_call(struct cluster_grpc *grpc, const struct cluster_grpc_request *request,
                      void *call, int32_t *out);

/* Sends one more message of a call that stays open. -EINVAL: there is no such stream; -EBUSY;
 * -ENOMEM. */
int cluster_grpc_send(struct cluster_grpc *grpc, int32_t stream, struct rapahub_bytes message);

/* Says whether a call is open. */
bool cluster_grpc_has_calls(const struct cluster_grpc *grpc);

/* Asks for a sign of life. */
void cluster_grpc_ping(struct cluster_grpc *grpc);

/* Takes bytes that came. A failure ends the session: RAPAHUB_EPROTOCOL: they are no HTTP/2, or the
 * other side broke a rule; -ENOMEM; that of a hook. */
int cluster_grpc_receive(struct cluster_grpc *grpc, const uint8_t *bytes, size_t size);

/* Gives a view of the next bytes to be sent, until cluster_grpc_sent says how many were. Size 0:
 * there are none. The failures of cluster_grpc_receive. */
int cluster_grpc_output(struct cluster_grpc *grpc, struct rapahub_bytes *out);
void cluster_grpc_sent(struct cluster_grpc *grpc, size_t size);

/* Says whether the other side takes no more calls, or one side has ended the session. */
bool cluster_grpc_is_over(const struct cluster_grpc *grpc);

#endif

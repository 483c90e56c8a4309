/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_peer: the server's side of gRPC over HTTP/2 in memory, by nghttp2, for tests: it keeps what
 * was asked for, and answers what the test says.
 */
#ifndef TESTS_METASTORE_GRPC_PEER_H
#define TESTS_METASTORE_GRPC_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/metastore/etcd/grpc.h"

#define GRPC_PEER_ASKED  16
#define GRPC_PEER_PATH   64
#define GRPC_PEER_HEADER 512

struct grpc_peer_asked { /* a stream that has come */
    int32_t stream;
    bool whole, ended; /* the client has sent its last message; it has ended */
    uint32_t error;
    char path[GRPC_PEER_PATH];
    uint8_t *bytes; /* messages, with their prefixes */
    size_t size;
};

struct grpc_peer {
    void *session; /* of nghttp2 */
    struct grpc_peer_asked asked[GRPC_PEER_ASKED];
    size_t count, pings, at_once; /* at_once: bytes that go through together; 0: all */
    const uint8_t *answer;        /* of the stream that is answered */
    size_t answer_size, answer_at;
    const char *status, *text; /* of its trailers; NULL: none */
    bool stays_open;
};

void grpc_peer_begin(struct grpc_peer *peer);
void grpc_peer_end(struct grpc_peer *peer);

/* Moves bytes both ways until there are none. Returns the failure of the client's side, or 0. */
int grpc_peer_move(struct grpc_peer *peer, struct cluster_grpc *grpc);

/* Answers a stream with bytes, a prefix before them, and a status. */
void grpc_peer_answer(struct grpc_peer *peer, int32_t stream, struct rapahub_bytes bytes,
                      const char *status, const char *text);

/* Answers by headers alone: a status of HTTP, and one of gRPC, which may be NULL. */
void grpc_peer_refuse(struct grpc_peer *peer, int32_t stream, const char *http, const char *status,
                      const char *text);

void grpc_peer_reset(struct grpc_peer *peer, int32_t stream, uint32_t error);
void grpc_peer_go_away(struct grpc_peer *peer, int32_t last);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* frame: the header of each message between a node and its clients, 64 bytes, little-endian, with a
 * checksum. The body follows it, see body.h.
 */
#ifndef CLUSTER_WIRE_FRAME_H
#define CLUSTER_WIRE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/ids.h"

#define CLUSTER_FRAME_SIZE     64
#define CLUSTER_FRAME_BODY_MAX (256 * 1024)
#define CLUSTER_FRAME_TTL      3 /* nodes that may hand a call on */

#define CLUSTER_FRAME_MORE  1 /* the next frame continues this body */
#define CLUSTER_FRAME_FIRST 2 /* this frame begins a body of several */

/* X(type, number, the members that a frame of it has) */
#define CLUSTER_FRAMES(X)                                               \
    X(HELLO, 1, 0)                                                      \
    X(HELLO_OK, 2, 0)                                                   \
    X(CREDIT, 3, CLUSTER_FRAME_HAS_STREAM)                              \
    X(PING, 4, 0)                                                       \
    X(PONG, 5, 0)                                                       \
    X(CLOSE, 6, 0)                                                      \
    X(CALL, 16, CLUSTER_FRAME_HAS_CALL | CLUSTER_FRAME_HAS_PARTS)       \
    X(RESULT, 17, CLUSTER_FRAME_HAS_CALL | CLUSTER_FRAME_HAS_PARTS)     \
    X(ACK, 18, CLUSTER_FRAME_HAS_CALL)                                  \
    X(NACK, 19, CLUSTER_FRAME_HAS_CALL)                                 \
    X(CANCEL, 20, CLUSTER_FRAME_HAS_CALL)                               \
    X(RESOLVED, 21, CLUSTER_FRAME_HAS_CALL)                             \
    X(EACH, 22, CLUSTER_FRAME_HAS_CALL | CLUSTER_FRAME_HAS_PARTS)       \
    X(STEP_DONE, 49, 0)                                                 \
    X(BLOB_ASK, 50, 0)                                                  \
    X(BLOB_PART, 51, 0)                                                 \
    X(COPY_PUT, 52, 0)                                                  \
    X(COPY_TAKEN, 53, 0)                                                \
    X(COPY_SEAL, 54, 0)                                                 \
    X(COPY_SEALED, 55, 0)                                               \
    X(COPY_ASK, 56, 0)                                                  \
    X(COPY_PIECE, 57, 0)                                                \
    X(COPY_HELD, 58, 0)                                                 \
    X(BULK_OPEN, 64, CLUSTER_FRAME_HAS_CALL | CLUSTER_FRAME_HAS_STREAM) \
    X(BULK_DATA, 65, CLUSTER_FRAME_HAS_STREAM)                          \
    X(BULK_DONE, 66, CLUSTER_FRAME_HAS_STREAM)                          \
    X(BULK_RESET, 67, CLUSTER_FRAME_HAS_STREAM)                         \
    X(JOIN, 80, 0)                                                      \
    X(JOIN_OK, 81, 0)                                                   \
    X(RENEW, 82, 0)                                                     \
    X(DEATH, 83, 0)                                                     \
    X(RENEWED, 85, 0)                                                   \
    X(PUSH_PULL, 96, 0)                                                 \
    X(LINK_PROBE, 97, 0)                                                \
    X(DATAGRAM_KEY, 98, 0)                                              \
    X(STORE_REQUEST, 112, 0)                                            \
    X(STORE_REPLY, 113, 0)                                              \
    X(STORE_EVENT, 114, 0)                                              \
    X(SHARE, 120, 0)                                                    \
    X(SHARED, 121, 0)

#define CLUSTER_FRAME_HAS_CALL                                        \
    1 /* uid, attempt, ttl, pool, container, replica, token, revision \
       */
#define CLUSTER_FRAME_HAS_STREAM 2
#define CLUSTER_FRAME_HAS_PARTS  4 /* the flags */

enum cluster_frame_type {
#define CLUSTER_FRAME_TYPE(type, number, members) CLUSTER_FRAME_##type = (number),
    CLUSTER_FRAMES(CLUSTER_FRAME_TYPE)
#undef CLUSTER_FRAME_TYPE
        CLUSTER_FRAME_IGNORED =
            128 /* from here on: types that a later release may send to this one */
};

/* Members that a type does not have are 0. */
struct cluster_frame {
    uint32_t body_size;
    uint8_t type, flags, ttl, attempt;
    struct cluster_uid uid;
    uint64_t pool; /* in the cluster, or an offer of each node */
    uint32_t container, replica;
    uint64_t token;    /* a container's, or the leader's term; 0: none */
    uint64_t revision; /* the sender's map has it; 0: none */
    uint32_t stream;   /* 0: none, in CREDIT */
};

void cluster_frame_write(const struct cluster_frame *frame, uint8_t to[CLUSTER_FRAME_SIZE]);

/* Reads a header that another process wrote. Returns 0; 1 for a type that is ignored: its body is
 * skipped, and only `type` and `body_size` are set; RAPAHUB_EPROTOCOL, after which nothing more of
 * this link can be understood. */
int cluster_frame_read(const uint8_t from[CLUSTER_FRAME_SIZE], struct cluster_frame *out);

/* Returns the type's name, or "?". */
const char *cluster_frame_name(uint8_t type);

#endif

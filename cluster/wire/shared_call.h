/* SPDX-License-Identifier: Apache-2.0 */
/* shared_call: a call of a client by shared memory, as the bytes of one request to its node, and
 * the answer to it. Both consist of what goes through the socket otherwise. All that was read are
 * views of the bytes that were read.
 *
 * A request is a byte with the number of calls that are acknowledged, their numbers (8 bytes each,
 * little-endian), the header of a CALL and its body. An answer is the type of a frame and its body.
 */
#ifndef CLUSTER_WIRE_SHARED_CALL_H
#define CLUSTER_WIRE_SHARED_CALL_H

#include "cluster/wire/body.h"
#include "cluster/wire/frame.h"

#define CLUSTER_SHARED_CALL_ACKS 32

/* The container of each node that takes the requests, and its method. */
#define CLUSTER_SHARED_CALL_POOL   ((struct rapahub_pool_id){UINT32_MAX, 17})
#define CLUSTER_SHARED_CALL_METHOD "call(bytes) -> bytes"

struct cluster_shared_call {
    uint32_t acks_count;
    uint64_t acks[CLUSTER_SHARED_CALL_ACKS];
    struct cluster_frame frame;
    struct cluster_body body;
};

/* Writes a request; `body_size` of the frame is set here. Returns 0, the writer's failure, or
 * -EINVAL for a call that would be refused. */
int cluster_shared_call_put(struct hub_writer *writer, const struct cluster_shared_call *call);

/* Reads a request. RAPAHUB_EPROTOCOL, RAPAHUB_EFORMAT: it is none. */
int cluster_shared_call_read(struct rapahub_bytes from, struct cluster_shared_call *out);

/* Write and read an answer: a RESULT, a NACK, a RESOLVED; or an ACK, which has no body: the RESULT
 * is too large, and comes by the socket when the call is sent again there. Any other type is
 * refused by the reader. */
int cluster_shared_call_put_answer(struct hub_writer *writer, uint8_t type,
                                   const struct cluster_body *body);
int cluster_shared_call_read_answer(struct rapahub_bytes from, uint8_t *type,
                                    struct cluster_body *out);

#endif

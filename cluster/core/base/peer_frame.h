/* SPDX-License-Identifier: Apache-2.0 */
/* peer_frame: what two nodes say to each other of a call: CALL, RESULT, NACK and CANCEL, as the
 * core has it, and as a frame of cluster/wire.
 */
#ifndef CLUSTER_CORE_BASE_PEER_FRAME_H
#define CLUSTER_CORE_BASE_PEER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/base/ids.h"
#include "cluster/wire/frame.h"
#include "hub/base/bytes.h"

/* A sender numbers its attempts, so that it knows which of them an answer belongs to. On the wire
 * the number is the attempt and, above it, the replica: 20 bits. */
#define CLUSTER_PEER_FRAME_ATTEMPTS (UINT32_C(1) << 20)

struct cluster_peer_frame {
    uint32_t node;  /* it goes to, or comes from */
    uint8_t type;   /* enum cluster_frame_type */
    uint8_t ttl;    /* nodes that may still hand the call on */
    uint8_t reason; /* NACK: enum cluster_body_nack_reason */
    bool maybe;     /* CALL: an attempt before it may have been admitted, in `lineage` */
    bool repeat;    /* CALL: it may run twice */
    bool pinned;    /* CALL: it is meant at `node`, and not handed on */
    uint32_t attempt;
    struct cluster_uid uid;
    uint64_t pool;
    uint32_t container;
    uint32_t order;    /* CALL; 0: none */
    uint64_t token;    /* CALL: of the epoch that it is meant for; RESULT: of the life it ran in */
    uint64_t lineage;  /* CALL: the one that may admit it; RESULT, NACK: the container's */
    uint64_t revision; /* of the sender's map; 0: it has none */
    uint64_t method, digest; /* CALL; the digest is of its arguments, and not on the wire */
    uint64_t chain;          /* CALL; 0: it is the first of one */
    uint64_t order_previous, done_below; /* CALL */
    uint64_t deadline_ns;                /* CALL: by the clock of the node that has the frame */
    uint64_t epoch;                      /* NACK: of the container's entry; 0: unknown */
    uint32_t owner;                      /* NACK: its owner; 0: none, or unknown */
    int32_t status, application;         /* RESULT */
};

/* Makes the header of a frame, and writes its body. `body` is the arguments of a CALL, the answer
 * of a RESULT, or the text of a RESULT that failed or of a NACK, cut where it is too long. Returns
 * the writer's failure. */
int cluster_peer_frame_put(const struct cluster_peer_frame *frame, struct rapahub_bytes body,
                           uint64_t now_ns, struct cluster_frame *header,
                           struct hub_writer *writer);

/* A frame as it came: its header was read. */
struct cluster_peer_frame_came {
    uint32_t from; /* node */
    const struct cluster_frame *header;
    struct rapahub_bytes body;
};

/* Reads a frame of another node. `body` gets a view of the one that came. Returns RAPAHUB_EFORMAT
 * where its body is not sound, and RAPAHUB_EPROTOCOL for a frame that is none of these, or that no
 * node sends: the link ends. */
int cluster_peer_frame_read(const struct cluster_peer_frame_came *came, uint64_t now_ns,
                            struct cluster_peer_frame *out, struct rapahub_bytes *body);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* copy_body: what nodes say to each other about the copies of containers' states: the bodies of the
 * frames COPY_*. Bytes and strings that were read are views of the bytes that were read.
 */
#ifndef CLUSTER_WIRE_COPY_BODY_H
#define CLUSTER_WIRE_COPY_BODY_H

#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/wire/format.h"

#define CLUSTER_COPY_BODY_PIECE  (64 * 1024)
#define CLUSTER_COPY_BODY_DIGEST 32
#define CLUSTER_COPY_BODY_TEXT   160
/* Bytes of a copy: a state of 1 GiB with its head, and the calls that it covers. */
#define CLUSTER_COPY_BODY_MAX ((UINT64_C(1) << 30) + (UINT64_C(64) << 20))
/* Bytes of all copies of a container that a holder has: a whole state, its changes, their heads. */
#define CLUSTER_COPY_BODY_FILE_MAX (UINT64_C(1) << 33)

/* COPY_PUT: an owner gives a holder a copy, or a piece of it, from `offset` on. */
struct cluster_body_copy_put {
    uint64_t pool, token, seq;
    uint64_t base_token, base_seq; /* the copy that it changes; 0, 0: it is a whole state */
    uint64_t state_size, dedup_size;
    uint64_t offset; /* in the state, then in the calls that it covers */
    uint32_t container, module, state_version;
    struct rapahub_bytes digest; /* SHA-256 of both, with the last piece; else none */
    struct rapahub_bytes piece;  /* CLUSTER_COPY_BODY_PIECE bytes, or what is left */
};

enum cluster_copy_taken {
    CLUSTER_COPY_TAKEN_MORE = 1, /* the holder has all bytes before `offset`, and wants the rest */
    CLUSTER_COPY_TAKEN_KEPT,     /* it is durable there */
    CLUSTER_COPY_TAKEN_WHOLE,   /* the copy that it changes is not there: a whole state is wanted */
    CLUSTER_COPY_TAKEN_LATER,   /* its map is not that new yet, or it has too much to do */
    CLUSTER_COPY_TAKEN_REFUSED, /* never */
    CLUSTER_COPY_TAKENS
};

/* COPY_TAKEN: what became of it. */
struct cluster_body_copy_taken {
    uint64_t pool, token, seq;
    uint64_t offset; /* MORE; else 0 */
    uint32_t container;
    uint8_t how;                /* enum cluster_copy_taken */
    struct rapahub_string text; /* why: LATER, REFUSED */
};

/* COPY_SEAL: the owner of a container wants the newest copy for the life with this token; the
 * holder is to take none of a life before. */
struct cluster_body_copy_seal {
    uint64_t pool, seal;
    uint32_t container;
};

/* COPY_SEALED: it is sealed, and that is the newest copy; or why not. */
struct cluster_body_copy_sealed {
    uint64_t pool, seal;
    uint64_t token, seq, size; /* all 0: it has none; size: bytes of the file */
    uint32_t container;
    int32_t status;             /* 0, or a failure */
    struct rapahub_string text; /* why, where there is a status */
};

/* COPY_ASK: a piece of the file of copies that ends with this one is wanted. */
struct cluster_body_copy_ask {
    uint64_t pool, token, seq, offset;
    uint32_t container;
};

/* COPY_PIECE: the piece, or why there is none. */
struct cluster_body_copy_piece {
    uint64_t pool, token, seq, offset;
    uint32_t container;
    int32_t status; /* 0, or a failure */
    struct rapahub_string text;
    struct rapahub_bytes piece; /* 1 to CLUSTER_COPY_BODY_PIECE bytes; none with a status */
};

/* COPY_HELD: an owner tells the node that leads that a node which is to become a holder has a full
 * copy of this epoch, which covers all that was told before, by the record of holders with this
 * revision: by another one the owner may have sent that node less. */
struct cluster_body_copy_held {
    uint64_t pool, epoch, revision;
    uint32_t container, node;
};

extern const struct cluster_format cluster_copy_body_put, cluster_copy_body_taken,
    cluster_copy_body_seal, cluster_copy_body_sealed, cluster_copy_body_ask,
    cluster_copy_body_piece, cluster_copy_body_held;

#endif

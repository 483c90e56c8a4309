/* SPDX-License-Identifier: Apache-2.0 */
/* copy_head: the bytes before each copy in the file of a container, little-endian, with a checksum.
 * Bytes from a disk are foreign, as those from a peer are. Pure.
 */
#ifndef CLUSTER_STORE_COPY_HEAD_H
#define CLUSTER_STORE_COPY_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_COPY_HEAD_MAGIC    "RPHCPY\x01" /* with its last byte, 0 */
#define CLUSTER_COPY_HEAD_VERSION  1
#define CLUSTER_COPY_HEAD_SIZE     128
#define CLUSTER_COPY_HEAD_DIGEST   32
#define CLUSTER_COPY_HEAD_BODY_MAX ((uint64_t)1 << 32) /* the state's, and the dedup entries' */

struct cluster_copy_head {
    uint64_t id, pool; /* random, the same in a whole file */
    uint32_t container, module;
    uint64_t token, seq, base_token, base_seq;
    uint32_t state_version, version;
    uint64_t state_size, dedup_size;
    uint8_t digest[CLUSTER_COPY_HEAD_DIGEST]; /* SHA-256 of state and dedup */
};

void cluster_copy_head_put(const struct cluster_copy_head *head,
                           uint8_t to[CLUSTER_COPY_HEAD_SIZE]);

/* Says whether the bytes are a head, of whatever version. */
bool cluster_copy_head_take(const uint8_t from[CLUSTER_COPY_HEAD_SIZE],
                            struct cluster_copy_head *out);

/* Says whether there can be such a copy. */
bool cluster_copy_head_is_sound(const struct cluster_copy_head *head);

/* Bytes of the copy, with its head; it is sound. */
uint64_t cluster_copy_head_size(const struct cluster_copy_head *head);

#endif

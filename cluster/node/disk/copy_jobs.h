/* SPDX-License-Identifier: Apache-2.0 */
/* copy_jobs: requests to the thread of the disk that keep copies, and that other nodes make. See
 * store_thread.h for the rules of all requests. Owner.
 */
#ifndef CLUSTER_NODE_DISK_COPY_JOBS_H
#define CLUSTER_NODE_DISK_COPY_JOBS_H

#include "cluster/node/disk/store_thread.h"

struct cluster_copy_jobs_piece {
    struct cluster_disk_container of;
    uint64_t token, seq;   /* the file ends with this copy */
    uint64_t offset, size; /* `size`: of the file */
};

/* Keeps a copy; `state` and `dedup` of it are taken, each from malloc or NULL. */
int cluster_copy_jobs_write(struct cluster_store_thread *thread, struct cluster_disk_container of,
                            const struct cluster_copy *copy, cluster_disk_on_done *on_done,
                            void *user);

/* Keeps a copy of another node, as the function above does, if its bytes have this
 * SHA-256: else RAPAHUB_EFORMAT. */
int cluster_copy_jobs_keep(struct cluster_store_thread *thread, struct cluster_disk_container of,
                           const struct cluster_copy *copy,
                           const uint8_t digest[CLUSTER_DIGEST_SIZE],
                           struct cluster_disk_request request);

/* Takes no copy of a life before the one with this token from now on, durably, and tells the newest
 * copy. RAPAHUB_ESTALE: that of a later life took its place, or is here. */
int cluster_copy_jobs_seal(struct cluster_store_thread *thread, struct cluster_disk_container of,
                           uint64_t token, struct cluster_disk_request request);

/* Reads a piece of the file of copies, `size` bytes or what is left. RAPAHUB_ESTALE: it ends with
 * another copy now. */
int cluster_copy_jobs_read(struct cluster_store_thread *thread,
                           const struct cluster_copy_jobs_piece *piece,
                           struct cluster_disk_request request);

/* Writes a piece of another node's file of copies, which is copied. With the last one the whole is
 * checked, and takes the place of the own file: `done`. RAPAHUB_EFORMAT: it is not sound. */
int cluster_copy_jobs_adopt(struct cluster_store_thread *thread,
                            const struct cluster_copy_jobs_piece *piece, struct rapahub_bytes bytes,
                            struct cluster_disk_request request);

#endif

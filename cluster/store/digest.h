/* SPDX-License-Identifier: Apache-2.0 */
/* digest: SHA-256, piece by piece. Any thread; a digest has one at a time.
 */
#ifndef CLUSTER_STORE_DIGEST_H
#define CLUSTER_STORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/store/files.h"

#define CLUSTER_DIGEST_SIZE 32

struct evp_md_ctx_st;

struct cluster_digest {
    struct evp_md_ctx_st *context;
};

int cluster_digest_begin(struct cluster_digest *digest); /* -ENOMEM */
void cluster_digest_add(struct cluster_digest *digest, const void *data, size_t size);

/* Ends it and writes the digest; `to` NULL: nothing is wanted of it. */
void cluster_digest_end(struct cluster_digest *digest, uint8_t to[CLUSTER_DIGEST_SIZE]);

/* The digest of `size` bytes of a file from `at` on. -EIO, too, where the file ends before. No
 * diagnosis. */
int cluster_digest_of_file(const struct cluster_files *files, int fd, uint64_t at, uint64_t size,
                           uint8_t to[CLUSTER_DIGEST_SIZE]);

#endif

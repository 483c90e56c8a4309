/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "hub/base/check.h"
#include "hub/base/own.h"

#define WINDOW ((size_t)64 << 10)

int cluster_digest_begin(struct cluster_digest *digest)
{
    digest->context = EVP_MD_CTX_new();
    if (!digest->context)
        return -ENOMEM;
    if (EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) == 1)
        return 0;
    EVP_MD_CTX_free(digest->context);
    digest->context = NULL;
    return -ENOMEM;
}

void cluster_digest_add(struct cluster_digest *digest, const void *data, size_t size)
{
    if (size > 0)
        ENSURE(EVP_DigestUpdate(digest->context, data, size) == 1);
}

void cluster_digest_end(struct cluster_digest *digest, uint8_t to[CLUSTER_DIGEST_SIZE])
{
    if (to)
        ENSURE(EVP_DigestFinal_ex(digest->context, to, NULL) == 1);
    EVP_MD_CTX_free(digest->context);
    digest->context = NULL;
}

static int add_file(struct cluster_digest *digest, const struct cluster_files *files, int fd,
                    uint64_t at, uint64_t size)
{
    OWN(hub_memory) uint8_t *window = malloc(WINDOW);

    if (!window)
        return -ENOMEM;
    while (size > 0) {
        size_t most = size < WINDOW ? (size_t)size : WINDOW;
        int64_t n = cluster_files_read(files, fd, window, most, at);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        cluster_digest_add(digest, window, (size_t)n);
        at += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return 0;
}

int cluster_digest_of_file(const struct cluster_files *files, int fd, uint64_t at, uint64_t size,
                           uint8_t to[CLUSTER_DIGEST_SIZE])
{
    struct cluster_digest digest;
    int r = cluster_digest_begin(&digest);

    if (r < 0)
        return r;
    r = add_file(&digest, files, fd, at, size);
    cluster_digest_end(&digest, r == 0 ? to : NULL);
    return r;
}

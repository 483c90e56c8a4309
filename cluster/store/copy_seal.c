/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/copy_seal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/crc32c.h"
#include "hub/base/own.h"

#define RULE        "cluster.copy.seal"
#define MAGIC       "RPHSEL\x01" /* with its last byte, 0 */
#define SIZE        40
#define VERSION     1
#define CHECKSUM_AT 36

_Static_assert(sizeof MAGIC == 8, "its last byte is 0");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a seal is little-endian");

static void name_of(uint64_t pool, uint32_t container, char to[CLUSTER_FILES_NAME_MAX])
{
    snprintf(to, CLUSTER_FILES_NAME_MAX, "%016" PRIx64 ".%08" PRIx32 ".seal", pool, container);
}

static void put(uint64_t pool, uint32_t container, uint64_t token, uint8_t to[SIZE])
{
    const uint32_t version = VERSION;
    uint32_t checksum;

    memset(to, 0, SIZE);
    memcpy(to, MAGIC, sizeof MAGIC);
    memcpy(to + 8, &pool, sizeof pool);
    memcpy(to + 16, &container, sizeof container);
    memcpy(to + 20, &version, sizeof version);
    memcpy(to + 24, &token, sizeof token);
    checksum = hub_crc32c(0, to, CHECKSUM_AT);
    memcpy(to + CHECKSUM_AT, &checksum, sizeof checksum);
}

int cluster_copy_seal_read(const struct cluster_files_folder *folder, uint64_t pool,
                           uint32_t container, uint64_t *token)
{
    OWN(hub_memory) uint8_t *bytes = NULL;
    char name[CLUSTER_FILES_NAME_MAX];
    uint8_t again[SIZE];
    size_t size;
    int r;

    *token = 0;
    name_of(pool, container, name);
    r = cluster_files_load(folder, name, SIZE, &bytes, &size);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (size == SIZE)
        memcpy(token, bytes + 24, sizeof *token);
    put(pool, container, *token, again);
    if (size == SIZE && memcmp(bytes, again, SIZE) == 0 && cluster_ids_is_token(*token))
        return 0;
    return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                        "%s/%s: it is damaged, so that no copy of its container is taken or given: "
                        "remove it once no other node serves that container",
                        folder->path, name);
}

/* r[impl cluster.copy.seal] */
int cluster_copy_seal_write(const struct cluster_files_folder *folder, uint64_t pool,
                            uint32_t container, uint64_t token)
{
    char name[CLUSTER_FILES_NAME_MAX];
    uint8_t bytes[SIZE];

    name_of(pool, container, name);
    put(pool, container, token, bytes);
    return cluster_files_replace(folder, name, bytes, sizeof bytes);
}

int cluster_copy_seal_remove(const struct cluster_files_folder *folder, uint64_t pool,
                             uint32_t container)
{
    char name[CLUSTER_FILES_NAME_MAX];
    int r;

    name_of(pool, container, name);
    r = folder->files->remove(folder->files, folder->fd, name);
    return r == 0 || r == -ENOENT ? 0 : cluster_files_fail(folder, name, "remove it", r);
}

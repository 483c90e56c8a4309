/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot_modules.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#define TOPIC "node"
#define FIRST 16 /* places */

int cluster_boot_modules_add(struct cluster_boot_modules *modules,
                             const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    if (modules->count == modules->room) {
        size_t room = modules->room > 0 ? 2 * modules->room : FIRST;
        uint8_t *more = reallocarray(modules->digests, room, CLUSTER_DIGEST_SIZE);

        if (!more)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the modules of a node");
        modules->digests = more;
        modules->room = room;
    }
    memcpy(modules->digests + modules->count * CLUSTER_DIGEST_SIZE, digest, CLUSTER_DIGEST_SIZE);
    modules->count++;
    return 0;
}

void cluster_boot_modules_remove_others(const struct cluster_boot_modules *modules,
                                        const struct cluster_files_folder *folder)
{
    struct cluster_blobs blobs;
    int r = cluster_blobs_open(&blobs, folder);

    if (r == 0) {
        r = cluster_blobs_remove_others(&blobs, modules->digests, modules->count);
        cluster_blobs_close(&blobs);
    }
    if (r == 0)
        return;
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "a file of no module stays: %s",
                rapahub_last_error()->text);
    rapahub_clear_error();
}

void cluster_boot_modules_fini(struct cluster_boot_modules *modules)
{
    free(modules->digests);
    *modules = (struct cluster_boot_modules){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* boot_modules: the modules that the metastore has when a node starts. Files of others are left of
 * a push or of a removal that was cut short, and are removed.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_MODULES_H
#define CLUSTER_NODE_BOOT_BOOT_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/store/blobs.h"

struct cluster_boot_modules { /* zeroed at first */
    uint8_t *digests;         /* `count` of them, in a row */
    size_t count, room;
};

/* Adds one; the digest is copied. RAPAHUB_ENOMEM. */
int cluster_boot_modules_add(struct cluster_boot_modules *modules,
                             const uint8_t digest[CLUSTER_DIGEST_SIZE]);

/* Removes all other files of modules. A file that cannot be removed is logged and stays, for it
 * does no harm. `folder`: that of the blobs. Waits for the disk. */
void cluster_boot_modules_remove_others(const struct cluster_boot_modules *modules,
                                        const struct cluster_files_folder *folder);

void cluster_boot_modules_fini(struct cluster_boot_modules *modules);

#endif

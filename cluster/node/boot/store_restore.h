/* SPDX-License-Identifier: Apache-2.0 */
/* store_restore: a backup takes the place of the metastore in a data folder, while no node runs
 * there. It waits for the disk, on its caller's thread.
 */
#ifndef CLUSTER_NODE_BOOT_STORE_RESTORE_H
#define CLUSTER_NODE_BOOT_STORE_RESTORE_H

#include <stdint.h>

#include "cluster/metastore/metastore.h"

#define CLUSTER_STORE_RESTORE_ASIDE "meta.db.replaced." /* and a number: the one that was there */
#define CLUSTER_STORE_RESTORE_NAME  32

struct cluster_store_restore {
    const char *data, *file; /* the data folder, and the backup, which stays as it is */
    uint32_t least;          /* the generation is this one at least; 0: any */
    uint64_t wait_ns;        /* for an answer of the store; 0: 30 s */
    const struct cluster_metastore_end *const *ends;
};

struct cluster_store_restored {
    uint32_t generation;
    char aside[CLUSTER_STORE_RESTORE_NAME]; /* the file that was replaced; "": there was none */
};

/* Checks the backup, and replaces the metastore with it. The generation is above that of the backup
 * and of all that the node has seen; numbers of nodes and pools that were given after the backup
 * are not given again. After a failure the folder has the metastore of before, or none, and the
 * command is repeated. RAPAHUB_EBUSY: a node runs there. -ENOENT: no folder, or no file.
 * RAPAHUB_EFORMAT: it is no backup, that of another cluster, or no folder of a node.
 * RAPAHUB_ECONFIG: the metastore of this node is elsewhere. RAPAHUB_EOVERFLOW: no generation or
 * number is left. Others are of the disk. */
int cluster_store_restore_run(const struct cluster_store_restore *restore,
                              struct cluster_store_restored *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* container_folders: the folder of a container, which its module may write: pools/POOL/CONTAINER in
 * the data folder, 16 and 8 hexadecimal digits. That of an earlier owner is put aside, which is a
 * rename, and removed a day later.
 *
 * Guests write these folders, so no name in them is followed and no depth of them is trusted. All
 * of it waits for the disk: one thread.
 */
#ifndef CLUSTER_NODE_DISK_CONTAINER_FOLDERS_H
#define CLUSTER_NODE_DISK_CONTAINER_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/store/files.h"

#define CLUSTER_CONTAINER_FOLDERS_PATH   40 /* bytes of "POOL/CONTAINER", with the 0 */
#define CLUSTER_CONTAINER_FOLDERS_KEPT_S (UINT64_C(24) * 3600)

/* Writes the path of a folder, from `pools` on. Pure. */
void cluster_container_folders_path(uint64_t pool, uint32_t container,
                                    char to[CLUSTER_CONTAINER_FOLDERS_PATH]);

/* The folder `pools`, on the system's files, and which names in it are durable, so that a thousand
 * containers of a pool do not sync it two thousand times. `pools` is the caller's, and lives
 * longer; all else is zeroed at first. */
struct cluster_container_folders {
    const struct cluster_files_folder *pools;
    uint64_t pool; /* the name of its folder is durable; 0: no such pool is known */
    bool aside;    /* the name of the folder of those that were put aside is durable */
};

/* Makes the folder of a container, mode 0700, if it is not there. Its name is durable. */
int cluster_container_folders_make(struct cluster_container_folders *folders, uint64_t pool,
                                   uint32_t container);

/* Puts it aside, durably, to be removed a day after `wall_s`, in seconds since 1970. Nothing is
 * done where there is none. */
int cluster_container_folders_put_aside(struct cluster_container_folders *folders, uint64_t pool,
                                        uint32_t container, uint64_t wall_s);

/* Removes at most `most` names of folders that were put aside a day before `wall_s`, and empty
 * folders of pools. Returns 1 if there may be more to remove now, 0 if not, or a failure, after
 * which the rest is kept. */
int cluster_container_folders_sweep(const struct cluster_files_folder *pools, uint64_t wall_s,
                                    size_t most);

#endif

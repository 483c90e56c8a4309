/* SPDX-License-Identifier: Apache-2.0 */
/* stray_files: names in a data folder that no part of a node gives. Nothing of a node reads such a
 * file, and nothing removes it. The folder `restart` is for the files of people, and so is what
 * modules write into the folders of their containers: neither is looked at.
 */
#ifndef CLUSTER_NODE_BOOT_STRAY_FILES_H
#define CLUSTER_NODE_BOOT_STRAY_FILES_H

#include "cluster/node/disk/data_folder.h"

typedef void cluster_stray_files_found(void *user, const struct cluster_files_folder *folder,
                                       const char *name);

/* Tells of each such name, in a folder that was loaded. It waits for the disk. Returns 0, or the
 * failure of a folder that cannot be listed, with a diagnosis. */
int cluster_stray_files_find(const struct cluster_data_folder *folder,
                             cluster_stray_files_found *found, void *user);

#endif

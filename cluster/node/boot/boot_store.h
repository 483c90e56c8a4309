/* SPDX-License-Identifier: Apache-2.0 */
/* boot_store: the records by which a metastore and a node know each other. A metastore that is new
 * gets them in one transaction; in any other they must be those of this node.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_STORE_H
#define CLUSTER_NODE_BOOT_BOOT_STORE_H

#include "cluster/node/boot/store_wait.h"
#include "cluster/node/disk/data_folder.h"

#define CLUSTER_BOOT_STORE_FORMAT  1
#define CLUSTER_BOOT_STORE_FEATURE 1

/* Checks that the metastore is at `seen`, a revision of it that the node knows of, or after it; and
 * gives the revision that it is at. RAPAHUB_ESTOREOLD: it is before that. */
int cluster_boot_store_check_age(const struct cluster_store_wait *wait, uint64_t seen,
                                 uint64_t *rev);

/* Sets up the records where there are none, and checks them: `rev` is a revision of now. `name` is
 * the node's. *out_uuid: of the cluster. RAPAHUB_EFORMAT: the metastore is another node's, or
 * damaged. RAPAHUB_EABI: of a later release. RAPAHUB_ESTOREOLD: it is another one than the folder
 * had, of the same generation. */
int cluster_boot_store_set_up(const struct cluster_store_wait *wait,
                              const struct cluster_data_folder *folder, const char *name,
                              uint64_t rev, uint8_t out_uuid[CLUSTER_DATA_FOLDER_UUID]);

#endif

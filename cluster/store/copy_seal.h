/* SPDX-License-Identifier: Apache-2.0 */
/* copy_seal: the mark beside the copies of a container that says which lives' copies are not taken
 * any more, in a file of its own. It is there before another life loads what is here, and outlives
 * this node: what an owner has that was replaced is kept no more. It waits for the disk:
 * one thread.
 */
#ifndef CLUSTER_STORE_COPY_SEAL_H
#define CLUSTER_STORE_COPY_SEAL_H

#include <stdint.h>

#include "cluster/store/files.h"

/* Reads the token below which no copy is taken; 0: any is. RAPAHUB_EFORMAT: the file is damaged, or
 * another container's. */
int cluster_copy_seal_read(const struct cluster_files_folder *folder, uint64_t pool,
                           uint32_t container, uint64_t *token);

/* Writes it, durably, also in place of a greater one. Failures of the disk. */
int cluster_copy_seal_write(const struct cluster_files_folder *folder, uint64_t pool,
                            uint32_t container, uint64_t token);

/* Removes it, if it is there. It is durable with the next change of a name in the folder. */
int cluster_copy_seal_remove(const struct cluster_files_folder *folder, uint64_t pool,
                             uint32_t container);

#endif

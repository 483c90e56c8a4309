/* SPDX-License-Identifier: Apache-2.0 */
/* copy_image: the file of a container's copies goes from node to node as it is: its bytes are read
 * here, and written there beside the own file, which they replace once all of them were checked.
 * It waits for the disk: one thread.
 */
#ifndef CLUSTER_STORE_COPY_IMAGE_H
#define CLUSTER_STORE_COPY_IMAGE_H

#include "cluster/store/copy_file.h"

/* Reads bytes of the open file, from `at` on, at most `size`. Returns their number; -EIO: fewer
 * than there are. */
int64_t cluster_copy_image_read(const struct cluster_copy_file *file, uint64_t at, void *to,
                                size_t size);

/* Writes bytes of another node's file beside this one; at 0 it begins anew. */
int cluster_copy_image_write(const struct cluster_copy_file *file, uint64_t at, const void *from,
                             size_t size);

/* Makes what was written so the open file, durably, if all of it is sound and it ends with this
 * copy. RAPAHUB_EFORMAT: it is not, or does not; then the file is that of before. */
int cluster_copy_image_adopt(struct cluster_copy_file *file, uint64_t token, uint64_t seq);

#endif

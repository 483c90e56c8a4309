/* SPDX-License-Identifier: Apache-2.0 */
/* commit: reserves the pages of a segment's file before they are used: the shared parts at
 * creation, the parts of a guest when it attaches, slots before they are handed out. So no process
 * touches a page that does not exist, and missing space is an error for the operation that needs
 * it. Pages are kept until the file is removed. For a memfd, whose pages appear when they are
 * touched, nothing is done.
 *
 * All functions return 0 or -ENOSPC, like hub_mapping_take.
 */
#ifndef HUB_SHM_COMMIT_H
#define HUB_SHM_COMMIT_H

#include <stdbool.h>

#include "hub/base/mapping.h"
#include "hub/shm/geometry.h"

/* Reserves header, peer table, the bitmaps of all pools and the host's slots; with size classes the
 * headers, all blocks, and the records of the first extents, but no slots. If unmanaged guests may
 * attach, it also reserves the parts of each entry, because they use any that is Empty. */
int hub_commit_shared(const struct hub_mapping *file, const struct hub_geometry *geometry);

/* Reserves a peer's rings, channels and its own pool. Slots of size classes are granted
 * separately. */
int hub_commit_peer(const struct hub_mapping *file, const struct hub_geometry *geometry,
                    uint32_t peer);

/* Reserves slots `from` to `from` + `count` - 1 of the first extent of a class. */
int hub_commit_slots(const struct hub_mapping *file, const struct hub_size_class *size_class,
                     uint32_t from, uint32_t count);

/* Says whether the file system has twice this many bytes free. The kernel answers for now, and does
 * not know of later use by others. */
bool hub_commit_is_ample(const struct hub_mapping *file, uint64_t bytes);

#endif

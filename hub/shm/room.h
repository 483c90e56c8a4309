/* SPDX-License-Identifier: Apache-2.0 */
/* room: which pages of a segment's file are taken when. What all share at creation, what one guest
 * needs when it comes, slots before anybody is given them: so nobody touches a page that is not
 * there, and room that is missing is an error for whom it is missing. They are kept until the file
 * goes. Nothing is done for memory that has its pages as they are touched (a memfd).
 *
 * All return 0 or -ENOSPC, as hub_mapping_take. */
#ifndef HUB_SHM_ROOM_H
#define HUB_SHM_ROOM_H

#include <stdbool.h>

#include "hub/base/mapping.h"
#include "hub/shm/geometry.h"

/* Header, peer table, the bitmaps of all pools and the host's slots; with size classes the headers,
 * all blocks, and the records of the first extents, of which no slot. Where strangers may come,
 * also what each entry needs: they take any that is Empty. */
int hub_room_take_shared(const struct hub_mapping *file, const struct hub_geometry *geometry);

/* Rings, channels, and the pool of its own. Slots of size classes are granted. */
int hub_room_take_peer(const struct hub_mapping *file, const struct hub_geometry *geometry,
                       uint32_t peer);

/* Slots `from` to `from` + `count` - 1 of the first extent of a class. */
int hub_room_take_slots(const struct hub_mapping *file, const struct hub_size_class *size_class,
                        uint32_t from, uint32_t count);

/* Has the file system so many bytes left, twice? Asked of the kernel; what others take later it
 * does not know. */
bool hub_room_is_ample(const struct hub_mapping *file, uint64_t bytes);

#endif

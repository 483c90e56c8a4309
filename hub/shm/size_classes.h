/* SPDX-License-Identifier: Apache-2.0 */
/* size_classes: where the slots of several sizes lie: what a host chooses, what a foreign header
 * says. Once made it is private memory; only `extents` of a class may grow, by who owns it. */
#ifndef HUB_SHM_SIZE_CLASSES_H
#define HUB_SHM_SIZE_CLASSES_H

#include <stdint.h>

#include "hub/shm/layout.h"

struct hub_size_class {
    uint32_t slot_size; /* bytes, all of it payload */
    uint32_t slots_per_extent;
    uint32_t extent_count;
    uint64_t extents[HUB_EXTENTS_MAX]; /* offsets in the segment; HUB_EXTENT_OWN_MEMORY */
};

struct hub_size_classes {
    uint32_t count; /* 0: pools of one slot size */
    uint64_t base;  /* offset of the first class's header */
    struct hub_size_class of[HUB_CLASSES_MAX];
};

/* The classes for payloads up to `payload_max`: sizes rise by 16, numbers fall by 4. -EINVAL where
 * an extent would have too many slots. r[impl hub.layout.pools] */
struct hub_size_choice {
    uint32_t slot_size, slot_count, payload_max, guests_max;
};
int hub_size_classes_choose(const struct hub_size_choice *choice, struct hub_size_classes *out);

/* Lays headers, peer blocks and the first extent of each class out from `base` on: where they end.
 */
uint64_t hub_size_classes_place(struct hub_size_classes *classes, uint64_t base, uint32_t guests);

/* Checks private copies of foreign headers, and takes what they say: 0, or RAPAHUB_EFORMAT with
 * shm.varslot.classes. That extents lie inside the segment is for the geometry to check. */
struct hub_size_foreign {
    const struct hub_size_class_header *headers;
    uint32_t count;
    uint64_t base;
    uint32_t payload_max;
};
int hub_size_classes_read(const struct hub_size_foreign *foreign, struct hub_size_classes *out);

/* Bytes of headers and peer blocks; of one extent; and from its start to the first slot. */
uint64_t hub_size_classes_head_size(const struct hub_size_classes *classes, uint32_t guests);
uint64_t hub_size_classes_extent_size(const struct hub_size_class *size_class);
uint64_t hub_size_classes_data_offset(const struct hub_size_class *size_class);

/* Bytes of the first extents. */
uint64_t hub_size_classes_bytes(const struct hub_size_classes *classes);

/* Offset of what `peer` has of class 0; those of the other classes follow. */
uint64_t hub_size_classes_peer_block(const struct hub_size_classes *classes, uint32_t peer);

/* Writes headers, peer blocks and first extents into a new segment, whose bytes are 0: nothing is
 * granted, all stacks are empty. */
void hub_size_classes_format(const struct hub_size_classes *classes, uint32_t guests,
                             uint8_t *segment);

/* Writes header and records of one new extent. */
struct hub_extent_name {
    uint32_t size_class, extent;
};
void hub_size_classes_format_extent(const struct hub_size_class *size_class,
                                    struct hub_extent_name name, uint8_t *memory);

/* Is a private copy of an extent's header the one that this extent must have? 0, or RAPAHUB_EFORMAT
 * with shm.varslot.extent-layout. */
int hub_size_classes_check_extent(const struct hub_size_class *size_class,
                                  struct hub_extent_name name,
                                  const struct hub_extent_header *copy);

#endif

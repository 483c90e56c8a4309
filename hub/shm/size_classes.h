/* SPDX-License-Identifier: Apache-2.0 */
/* size_classes: the places of slots of several sizes, as a host chooses them or a foreign header
 * gives them. The struct is private memory; afterwards only `extents` of a class may grow, by its
 * owner. */
#ifndef HUB_SHM_SIZE_CLASSES_H
#define HUB_SHM_SIZE_CLASSES_H

#include <stdint.h>

#include "hub/shm/layout.h"

struct hub_size_class {
    uint32_t slot_size; /* bytes, all payload */
    uint32_t slots_per_extent;
    uint32_t extent_count;
    uint64_t extents[HUB_EXTENTS_MAX]; /* offsets in the segment, or HUB_EXTENT_OWN_MEMORY */
};

struct hub_size_classes {
    uint32_t count; /* 0: pools of one slot size */
    uint64_t base;  /* offset of the first class's header */
    struct hub_size_class of[HUB_CLASSES_MAX];
};

/* Chooses the classes for payloads up to `payload_max`: from class to class the size grows 16 times
 * and the number of slots shrinks 4 times. -EINVAL if an extent would have too many slots.
 * r[impl hub.layout.pools] */
struct hub_size_choice {
    uint32_t slot_size, slot_count, payload_max, guests_max;
};
int hub_size_classes_choose(const struct hub_size_choice *choice, struct hub_size_classes *out);

/* Places headers, peer blocks and the first extent of each class from `base` on. Returns their
 * end. */
uint64_t hub_size_classes_place(struct hub_size_classes *classes, uint64_t base, uint32_t guests);

/* Checks private copies of foreign headers and reads the classes from them. Returns 0, or
 * RAPAHUB_EFORMAT with shm.varslot.classes. The geometry checks that extents lie inside the
 * segment. */
struct hub_size_foreign {
    const struct hub_size_class_header *headers;
    uint32_t count;
    uint64_t base;
    uint32_t payload_max;
};
int hub_size_classes_read(const struct hub_size_foreign *foreign, struct hub_size_classes *out);

/* Return sizes in bytes: of headers and peer blocks; of one extent; from an extent's start to its
 * first slot. */
uint64_t hub_size_classes_head_size(const struct hub_size_classes *classes, uint32_t guests);
uint64_t hub_size_classes_extent_size(const struct hub_size_class *size_class);
uint64_t hub_size_classes_data_offset(const struct hub_size_class *size_class);

/* Returns the bytes of the first extents. */
uint64_t hub_size_classes_bytes(const struct hub_size_classes *classes);

/* Returns the offset of the peer's struct for class 0; those of the other classes follow. */
uint64_t hub_size_classes_peer_block(const struct hub_size_classes *classes, uint32_t peer);

/* Writes headers, peer blocks and first extents into a new segment, whose bytes are 0. No slot is
 * granted, and all stacks are empty. */
void hub_size_classes_format(const struct hub_size_classes *classes, uint32_t guests,
                             uint8_t *segment);

/* Writes header and records of a new extent. */
struct hub_extent_name {
    uint32_t size_class, extent;
};
void hub_size_classes_format_extent(const struct hub_size_class *size_class,
                                    struct hub_extent_name name, uint8_t *memory);

/* Checks a private copy of an extent's header against the header that this extent must have.
 * Returns 0, or RAPAHUB_EFORMAT with shm.varslot.extent-layout. */
int hub_size_classes_check_extent(const struct hub_size_class *size_class,
                                  struct hub_extent_name name,
                                  const struct hub_extent_header *copy);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* slot_class: slots of several sizes as both sides see them: pointers by ref, and stacks of free
 * slots. A stack has many who push and one who pops; whatever a peer wrote into it costs at most a
 * bounded number of tries. What a slot is to whom, slot_bank (host) and slot_purse (guest) know. */
#ifndef HUB_SHM_SLOT_CLASS_H
#define HUB_SHM_SLOT_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/mapping.h"
#include "hub/shm/geometry.h"
#include "hub/shm/layout.h"
#include "hub/shm/slot_ref.h"

/* What is asked of an extent for each message: private, and found by the upper bits of a ref. */
struct hub_slot_extent {
    struct hub_a32 count; /* its slots; 0: not mapped; else the rest does not change any more */
    uint32_t slot_size;
    struct hub_slot_meta *metas;
    uint8_t *data;
    void *records; /* of the same slots, the owner's: made before, under its lock */
};

#define HUB_SLOT_EXTENTS (HUB_CLASSES_MAX * HUB_EXTENTS_MAX)

struct hub_slot_class {
    uint32_t slot_size, per_extent;
    uint32_t extent_count;                      /* mapped here; under the owner's lock */
    struct hub_size_class_header *header;       /* in the segment */
    struct hub_mapping memory[HUB_EXTENTS_MAX]; /* empty of what lies in the segment */
};

struct hub_slot_map {
    uint32_t count;
    uint8_t *segment;
    uint8_t *blocks; /* of the guests, in the segment; each of so many bytes */
    uint64_t block_size;
    uint32_t sizes[HUB_CLASSES_MAX]; /* of the slots of each class: in one line */
    struct hub_size_classes places;
    struct hub_slot_class of[HUB_CLASSES_MAX];
    struct hub_slot_extent extents[HUB_SLOT_EXTENTS];
};

/* `segment` is the first byte of the mapping, in which the first extent of each class lies. */
void hub_slot_class_init(struct hub_slot_map *map, const struct hub_geometry *geometry,
                         uint8_t *segment);
void hub_slot_class_fini(struct hub_slot_map *map);

/* One extent more: takes the mapping over. One thread at a time; others see it whole, or not. */
void hub_slot_class_add(struct hub_slot_map *map, struct hub_extent_name name,
                        struct hub_mapping *memory);

/* The slots of a class that a guest is granted when it comes: half of the first extent, divided. */
uint32_t hub_slot_class_share(const struct hub_slot_map *map, uint32_t size_class,
                              uint32_t guests_max);

/* What `peer` has of a class, in the segment. */
static inline struct hub_peer_class *hub_slot_class_peer(const struct hub_slot_map *map,
                                                         uint32_t peer, uint32_t size_class)
{
    void *block = map->blocks + (peer - 1) * map->block_size;

    return (struct hub_peer_class *)block + size_class;
}

/* Is there such a slot, mapped? Of any number. */
static inline __attribute__((always_inline)) bool hub_slot_class_has(const struct hub_slot_map *map,
                                                                     uint32_t ref)
{
    uint32_t extent = hub_slot_ref_extent(ref);

    return extent < HUB_SLOT_EXTENTS &&
           hub_slot_ref_index(ref) < hub_observe(&map->extents[extent].count);
}

/* Of a ref that is there: who asks for these has looked before, or has a record of it. */
static inline struct hub_slot_meta *hub_slot_class_meta(const struct hub_slot_map *map,
                                                        uint32_t ref)
{
    return &map->extents[hub_slot_ref_extent(ref)].metas[hub_slot_ref_index(ref)];
}

static inline uint8_t *hub_slot_class_data(const struct hub_slot_map *map, uint32_t ref)
{
    const struct hub_slot_extent *extent = &map->extents[hub_slot_ref_extent(ref)];

    return extent->data + (size_t)hub_slot_ref_index(ref) * extent->slot_size;
}

static inline uint32_t hub_slot_class_size(const struct hub_slot_map *map, uint32_t ref)
{
    return map->extents[hub_slot_ref_extent(ref)].slot_size;
}

/* The smallest class for `size` bytes; `count` where there is none. r[impl shm.varslot.selection]
 */
uint32_t hub_slot_class_select(const struct hub_slot_map *map, size_t size);

/* The same, where most payloads are of the class of the last one, which is *near. */
static inline uint32_t hub_slot_class_select_near(const struct hub_slot_map *map, size_t size,
                                                  uint32_t *near)
{
    uint32_t c = *near;

    if (c >= map->count || size > map->sizes[c] || (c > 0 && size <= map->sizes[c - 1]))
        c = *near = hub_slot_class_select(map, size);
    return c;
}

/* Pushes a slot: false where others changed the head too often. Any thread of any process. */
bool hub_slot_class_push(const struct hub_slot_map *map, struct hub_a64 *head, uint32_t ref);

/* The slots that go round of one class where one is used at a time: so many may be taken at once.
 * The line with their stack need not come from the other side for each, and they are still warm. */
#define HUB_SLOT_ROUND 4

/* The first slots, of one stack, by one swap: how many, at most HUB_SLOT_ROUND; -EAGAIN where
 * there is none, or others changed the head too often; -ENXIO, without a diagnosis, where the first
 * lies in an extent that is not mapped here, and is refs[0]; RAPAHUB_EPROTOCOL where the head names
 * no slot of `size_class`. What follows and is no such slot stays where it is. The same one may be
 * there twice. One popper at a time. */
int hub_slot_class_pop(const struct hub_slot_map *map, struct hub_a64 *head, uint32_t size_class,
                       uint32_t refs[HUB_SLOT_ROUND]);

/* Takes all: the first ref, or HUB_SLOT_REF_NONE. */
uint32_t hub_slot_class_pop_all(struct hub_a64 *head);

__attribute__((cold)) int hub_slot_class_refuse(const struct hub_slot_map *map,
                                                const struct hub_descriptor *descriptor);

/* What a receiver checks of a private copy of a descriptor before it looks at the payload, besides
 * what it remembers of the slot. r[impl shm.payload.slot] r[impl shm.slot.payload-offset] */
static inline __attribute__((always_inline)) int hub_slot_class_check(
    const struct hub_slot_map *map, const struct hub_descriptor *descriptor)
{
    uint64_t end = (uint64_t)descriptor->payload_offset + descriptor->payload_len;

    return hub_slot_class_has(map, descriptor->payload_slot) &&
                   end <= hub_slot_class_size(map, descriptor->payload_slot)
               ? 0
               : hub_slot_class_refuse(map, descriptor);
}

/* Where the payload of one that was checked lies. */
static inline const uint8_t *hub_slot_class_payload(const struct hub_slot_map *map,
                                                    const struct hub_descriptor *descriptor)
{
    return hub_slot_class_data(map, descriptor->payload_slot) + descriptor->payload_offset;
}

__attribute__((cold)) int hub_slot_class_refuse_generation(const struct hub_descriptor *descriptor,
                                                           uint32_t found, const char *when);

/* r[impl shm.slot.generation] */
static inline __attribute__((always_inline)) int hub_slot_class_check_generation(
    const struct hub_slot_map *map, const struct hub_descriptor *descriptor, const char *when)
{
    uint32_t found = hub_observe(&hub_slot_class_meta(map, descriptor->payload_slot)->generation);

    return found == descriptor->payload_generation
               ? 0
               : hub_slot_class_refuse_generation(descriptor, found, when);
}

/* Copies the payload once, and looks at the generation again: a peer that re-used its slot too
 * early is told so. */
int hub_slot_class_copy(const struct hub_slot_map *map, const struct hub_descriptor *descriptor,
                        void *to);

#endif

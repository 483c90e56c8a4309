/* SPDX-License-Identifier: Apache-2.0 */
/* slot_class: slots of several sizes as both sides see them: addresses by ref, and stacks of free
 * slots. Many processes push onto a stack and one pops; whatever a peer writes into it costs at
 * most a bounded number of tries. The owner of a slot is known to slot_bank (host) and slot_purse
 * (guest). */
#ifndef HUB_SHM_SLOT_CLASS_H
#define HUB_SHM_SLOT_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/check.h"
#include "hub/base/mapping.h"
#include "hub/shm/geometry.h"
#include "hub/shm/layout.h"
#include "hub/shm/slot_ref.h"

/* The parts of an extent that each message needs. Private memory, indexed by the upper bits of a
 * ref. */
struct hub_slot_extent {
    /* number of slots; 0: not mapped; otherwise the other members no longer change */
    struct hub_a32 count;
    uint32_t slot_size;
    struct hub_slot_meta *metas;
    uint8_t *data;
    void *records; /* the owner's records of the same slots; made earlier, under its lock */
};

#define HUB_SLOT_EXTENTS (HUB_CLASSES_MAX * HUB_EXTENTS_MAX)

/* A slot of the other side, from `show` until it is returned. The addresses of its meta and of its
 * record are kept, so that its return need not find them again: neither moves as long as the map
 * exists. With slots of one size only `slot` is set. */
struct hub_slot_held {
    struct hub_slot_meta *meta;
    void *record; /* the owner's record of the slot */
    uint32_t slot;
};

/* A slot of this side, from `loan` until it is sent or dropped. Its addresses are kept for the same
 * reason. */
struct hub_slot_loan {
    uint8_t *data; /* its payload area */
    size_t room;   /* bytes of the payload area */
    uint32_t slot, generation;
    struct hub_slot_meta *meta; /* NULL with slots of one size: `state` is not set then */
    struct hub_a32 *state;      /* in the owner's record of the slot */
};

/* The states that have the same numbers in the records of both owners. The writer of a slot changes
 * LOANED to SENT, without a lock. */
enum hub_slot_record_state { HUB_SLOT_RECORD_LOANED = 2, HUB_SLOT_RECORD_SENT };

struct hub_slot_class {
    uint32_t slot_size, per_extent;
    uint32_t extent_count;                      /* mapped here; under the owner's lock */
    struct hub_size_class_header *header;       /* in the segment */
    struct hub_mapping memory[HUB_EXTENTS_MAX]; /* empty for an extent inside the segment */
};

struct hub_slot_map {
    uint32_t count;
    uint8_t *segment;
    uint8_t *blocks; /* the guests' blocks in the segment, of block_size bytes each */
    uint64_t block_size;
    uint32_t sizes[HUB_CLASSES_MAX]; /* slot sizes of the classes, together in one cache line */
    struct hub_size_classes places;
    struct hub_slot_class of[HUB_CLASSES_MAX];
    struct hub_slot_extent extents[HUB_SLOT_EXTENTS];
};

/* `segment` is the start of the mapping, which contains the first extent of each class. */
void hub_slot_class_init(struct hub_slot_map *map, const struct hub_geometry *geometry,
                         uint8_t *segment);
void hub_slot_class_fini(struct hub_slot_map *map);

/* Adds an extent and owns its mapping from then on. Only one thread at a time may call it; others
 * see all of the extent or nothing. */
void hub_slot_class_add(struct hub_slot_map *map, struct hub_extent_name name,
                        struct hub_mapping *memory);

/* Returns the slots of a class that a guest is granted when it attaches: half of the first extent,
 * divided by the guests. */
uint32_t hub_slot_class_share(const struct hub_slot_map *map, uint32_t size_class,
                              uint32_t guests_max);

/* Returns the peer's part of a class, in the segment. */
static inline struct hub_peer_class *hub_slot_class_peer(const struct hub_slot_map *map,
                                                         uint32_t peer, uint32_t size_class)
{
    void *block = map->blocks + (peer - 1) * map->block_size;

    return (struct hub_peer_class *)block + size_class;
}

/* Says whether the slot exists and is mapped, for any number. */
static inline __attribute__((always_inline)) bool hub_slot_class_has(const struct hub_slot_map *map,
                                                                     uint32_t ref)
{
    uint32_t extent = hub_slot_ref_extent(ref);

    return extent < HUB_SLOT_EXTENTS &&
           hub_slot_ref_index(ref) < hub_observe(&map->extents[extent].count);
}

/* For a ref that exists: the caller has checked it, or has a record of it. */
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

/* Returns a loan of a slot that has just been lent with this generation. */
static inline struct hub_slot_loan hub_slot_class_loan(const struct hub_slot_map *map, uint32_t ref,
                                                       uint32_t generation, struct hub_a32 *state)
{
    const struct hub_slot_extent *extent = &map->extents[hub_slot_ref_extent(ref)];
    size_t index = hub_slot_ref_index(ref);

    return (struct hub_slot_loan){.data = extent->data + index * extent->slot_size,
                                  .room = extent->slot_size,
                                  .slot = ref,
                                  .generation = generation,
                                  .meta = extent->metas + index,
                                  .state = state};
}

/* Called before the descriptor becomes visible, so the slot cannot come back earlier. A loaned slot
 * is not moved until its writer is done with it, hence no lock. */
static inline void hub_slot_class_sent(const struct hub_slot_loan *loan)
{
    CHECK(hub_load_relaxed(loan->state) == HUB_SLOT_RECORD_LOANED);
    hub_store_relaxed(&loan->meta->state, HUB_META_IN_FLIGHT);
    hub_publish(loan->state, HUB_SLOT_RECORD_SENT);
}

/* Finds meta and record of a held slot anew, for a caller that has kept only its ref. `record_size`
 * is the size of one of the owner's records. */
static inline struct hub_slot_held hub_slot_class_held_of(const struct hub_slot_map *map,
                                                          uint32_t ref, size_t record_size)
{
    const struct hub_slot_extent *extent = &map->extents[hub_slot_ref_extent(ref)];
    size_t index = hub_slot_ref_index(ref);

    return (struct hub_slot_held){.meta = extent->metas + index,
                                  .record = (uint8_t *)extent->records + index * record_size,
                                  .slot = ref};
}

/* Returns the smallest class for `size` bytes, or `count` if there is none.
 * r[impl shm.varslot.selection] */
uint32_t hub_slot_class_select(const struct hub_slot_map *map, size_t size);

/* A class that was selected, and the sizes that it serves: more than `above` bytes, and at most
 * `most`. All 0: none yet. */
struct hub_slot_near {
    uint32_t size_class, above, most;
};

/* Selects a class, and notes its sizes. */
uint32_t hub_slot_class_select_anew(const struct hub_slot_map *map, size_t size,
                                    struct hub_slot_near *near);

/* The same, with *near as a cache: most payloads are of the class of the previous one. */
static inline uint32_t hub_slot_class_select_near(const struct hub_slot_map *map, size_t size,
                                                  struct hub_slot_near *near)
{
    return size > near->above && size <= near->most ? near->size_class
                                                    : hub_slot_class_select_anew(map, size, near);
}

/* Pushes the slot `ref`, which has this meta. False if others changed the head too often. Any
 * thread of any process. */
bool hub_slot_class_push(struct hub_slot_meta *meta, struct hub_a64 *head, uint32_t ref);

/* Slots of a class that cycle when one is used at a time; as many may be popped at once. The line
 * with their stack is then not fetched from the other side for each, and the slots are still
 * warm. */
#define HUB_SLOT_ROUND 4

/* Pops the first slots of a stack with one swap. Returns their number, at most HUB_SLOT_ROUND;
 * -EAGAIN if the stack is empty, or others changed the head too often; -ENXIO, without a diagnosis,
 * if the first is in an extent that is not mapped here (refs[0] has it); RAPAHUB_EPROTOCOL if the
 * head is no slot of `size_class`. A later link that is no such slot is left in place. The same
 * slot may occur twice. Only one thread at a time may pop. */
int hub_slot_class_pop(const struct hub_slot_map *map, struct hub_a64 *head, uint32_t size_class,
                       uint32_t refs[HUB_SLOT_ROUND]);

/* Pops all slots. Returns the first ref, or HUB_SLOT_REF_NONE. */
uint32_t hub_slot_class_pop_all(struct hub_a64 *head);

__attribute__((cold)) int hub_slot_class_refuse(const struct hub_slot_extent *extent,
                                                const struct hub_descriptor *descriptor);

/* Returns a slot's extent, for any number; NULL if the slot does not exist or is not mapped. */
static inline __attribute__((always_inline)) const struct hub_slot_extent *hub_slot_class_extent(
    const struct hub_slot_map *map, uint32_t ref)
{
    return hub_slot_class_has(map, ref) ? &map->extents[hub_slot_ref_extent(ref)] : NULL;
}

/* A receiver's checks of a private copy of a descriptor before it reads the payload, apart from
 * those against its records. `extent` is the result of hub_slot_class_extent for its slot. Returns
 * 0, with the slot's meta and record in *out and the payload's address in *data, or
 * RAPAHUB_EPROTOCOL. r[impl shm.payload.slot] r[impl shm.slot.payload-offset] */
static inline __attribute__((always_inline)) int hub_slot_class_find(
    const struct hub_slot_extent *extent, const struct hub_descriptor *descriptor,
    size_t record_size, struct hub_slot_held *out, const uint8_t **data)
{
    uint32_t slot = descriptor->payload_slot, offset = descriptor->payload_offset;
    size_t index = hub_slot_ref_index(slot);

    if (!extent || (uint64_t)offset + descriptor->payload_len > extent->slot_size)
        return hub_slot_class_refuse(extent, descriptor);
    out->slot = slot;
    out->meta = extent->metas + index;
    out->record = (uint8_t *)extent->records + index * record_size;
    *data = extent->data + index * extent->slot_size + offset;
    return 0;
}

/* Returns the address of the payload of a checked descriptor. */
static inline const uint8_t *hub_slot_class_payload(const struct hub_slot_map *map,
                                                    const struct hub_descriptor *descriptor)
{
    return hub_slot_class_data(map, descriptor->payload_slot) + descriptor->payload_offset;
}

/* Refuses the return of a slot that is no longer in flight: RAPAHUB_EPROTOCOL. */
__attribute__((cold)) int hub_slot_class_refuse_free(uint32_t ref);

__attribute__((cold)) int hub_slot_class_refuse_generation(const struct hub_descriptor *descriptor,
                                                           uint32_t found, const char *when);

/* `meta` is that of the descriptor's slot. r[impl shm.slot.generation] */
static inline __attribute__((always_inline)) int hub_slot_class_check_generation(
    const struct hub_slot_meta *meta, const struct hub_descriptor *descriptor, const char *when)
{
    uint32_t found = hub_observe(&meta->generation);

    return found == descriptor->payload_generation
               ? 0
               : hub_slot_class_refuse_generation(descriptor, found, when);
}

/* Copies the payload once and checks the generation again: a peer that reused its slot too early is
 * told so. */
int hub_slot_class_copy(const struct hub_slot_map *map, const struct hub_descriptor *descriptor,
                        void *to);

#endif

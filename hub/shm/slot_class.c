/* SPDX-License-Identifier: Apache-2.0 */
/* slot_class: the successful swap of a head releases the link that was written before it. Each
 * later swap continues that release, so the process that pops a slot sees its link. */
#include "hub/shm/slot_class.h"

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/streaming_copy.h"

#define TRIES 128 /* limit for a swap that others may prevent */

static struct hub_slot_extent *extent_of(struct hub_slot_map *map, struct hub_extent_name name)
{
    return &map->extents[name.size_class * HUB_EXTENTS_MAX + name.extent];
}

static void place_at(struct hub_slot_extent *extent, const struct hub_size_class *place,
                     uint8_t *memory)
{
    extent->slot_size = place->slot_size;
    extent->metas = (struct hub_slot_meta *)(void *)(memory + sizeof(struct hub_extent_header));
    extent->data = memory + hub_size_classes_data_offset(place);
    hub_publish(&extent->count, place->slots_per_extent);
}

void hub_slot_class_init(struct hub_slot_map *map, const struct hub_geometry *geometry,
                         uint8_t *segment)
{
    *map = (struct hub_slot_map){
        .count = geometry->classes.count, .segment = segment, .places = geometry->classes};
    map->blocks = segment + hub_size_classes_peer_block(&map->places, 1);
    map->block_size =
        hub_size_classes_peer_block(&map->places, 2) - hub_size_classes_peer_block(&map->places, 1);
    for (uint32_t c = 0; c < map->count; c++) {
        const struct hub_size_class *place = &map->places.of[c];
        struct hub_slot_class *of = &map->of[c];

        of->slot_size = map->sizes[c] = place->slot_size;
        of->per_extent = place->slots_per_extent;
        of->extent_count = 1;
        of->header = (struct hub_size_class_header *)(void *)(segment + map->places.base) + c;
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX; e++)
            hub_mapping_init(&of->memory[e]);
        place_at(extent_of(map, (struct hub_extent_name){c, 0}), place,
                 segment + place->extents[0]);
    }
}

void hub_slot_class_fini(struct hub_slot_map *map)
{
    for (uint32_t c = 0; c < map->count; c++)
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX; e++)
            hub_mapping_fini(&map->of[c].memory[e]);
    map->count = 0;
}

void hub_slot_class_add(struct hub_slot_map *map, struct hub_extent_name name,
                        struct hub_mapping *memory)
{
    struct hub_slot_class *of = &map->of[name.size_class];
    struct hub_slot_extent *extent = extent_of(map, name);

    CHECK(hub_load_relaxed(&extent->count) == 0);
    of->memory[name.extent] = *memory;
    hub_mapping_init(memory);
    place_at(extent, &map->places.of[name.size_class], of->memory[name.extent].data);
    of->extent_count++;
}

uint32_t hub_slot_class_share(const struct hub_slot_map *map, uint32_t size_class,
                              uint32_t guests_max)
{
    uint32_t share = map->of[size_class].per_extent / 2 / guests_max;

    return share > 0 ? share : 1;
}

/* The time is the same for large and for small sizes. r[impl shm.varslot.selection] */
uint32_t hub_slot_class_select(const struct hub_slot_map *map, size_t size)
{
    uint32_t smaller = 0;

    for (uint32_t c = 0; c < map->count; c++)
        smaller += map->sizes[c] < size;
    return smaller;
}

__attribute__((noinline)) uint32_t hub_slot_class_select_anew(const struct hub_slot_map *map,
                                                              size_t size,
                                                              struct hub_slot_near *near)
{
    uint32_t c = hub_slot_class_select(map, size);

    *near = (struct hub_slot_near){.size_class = c,
                                   .above = c > 0 ? map->sizes[c - 1] : 0,
                                   .most = c < map->count ? map->sizes[c] : 0};
    return c;
}

/* r[impl shm.varslot.freelist] r[impl shm.varslot.freeing] */
bool hub_slot_class_push(struct hub_slot_meta *meta, struct hub_a64 *head, uint32_t ref)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t old = hub_observe64(head);

        hub_store_relaxed(&meta->next_free, hub_slot_ref_first(old));
        if (hub_claim64(head, old, hub_slot_ref_head(ref, hub_slot_ref_tag(old) + 1)))
            return true;
    }
    return false;
}

static bool is_unmapped(const struct hub_slot_map *map, uint32_t ref, uint32_t size_class)
{
    struct hub_slot_ref at = hub_slot_ref_unpack(ref);

    return at.size_class == size_class && at.index < map->of[size_class].per_extent &&
           hub_observe(&map->extents[hub_slot_ref_extent(ref)].count) == 0;
}

static __attribute__((cold)) int refuse_first(const struct hub_slot_map *map, uint32_t first,
                                              uint32_t size_class)
{
    if (is_unmapped(map, first, size_class))
        return -ENXIO;
    return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.freelist",
                        "the free slots of size class %u begin with %#x, which is none", size_class,
                        first);
}

/* A popped slot cannot be popped by another process. So its link does not change meanwhile, and a
 * head with the old value has not been away. r[impl shm.varslot.allocation]
 * r[impl hub.var.single-popper] */
int hub_slot_class_pop(const struct hub_slot_map *map, struct hub_a64 *head, uint32_t size_class,
                       uint32_t refs[HUB_SLOT_ROUND])
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t old = hub_observe64(head);
        uint32_t next = hub_slot_ref_first(old), count = 0;

        if (next == HUB_SLOT_REF_NONE)
            return -EAGAIN;
        refs[0] = next;
        while (count < HUB_SLOT_ROUND && next >> 24 == size_class &&
               hub_slot_class_has(map, next)) {
            refs[count++] = next;
            next = hub_load_relaxed(&hub_slot_class_meta(map, next)->next_free);
        }
        if (count == 0)
            return refuse_first(map, next, size_class);
        if (hub_claim64(head, old, hub_slot_ref_head(next, hub_slot_ref_tag(old) + 1)))
            return (int)count;
    }
    return -EAGAIN;
}

uint32_t hub_slot_class_pop_all(struct hub_a64 *head)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t old = hub_observe64(head);
        uint64_t empty = hub_slot_ref_head(HUB_SLOT_REF_NONE, hub_slot_ref_tag(old) + 1);

        if (hub_slot_ref_first(old) == HUB_SLOT_REF_NONE)
            break;
        if (hub_claim64(head, old, empty))
            return hub_slot_ref_first(old);
    }
    return HUB_SLOT_REF_NONE;
}

int hub_slot_class_refuse(const struct hub_slot_extent *extent,
                          const struct hub_descriptor *descriptor)
{
    struct hub_slot_ref at = hub_slot_ref_unpack(descriptor->payload_slot);

    if (!extent)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.payload.slot",
                            "there is no slot %u in extent %u of size class %u", at.index,
                            at.extent, at.size_class);
    return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.payload-offset",
                        "%u bytes from %u on do not fit a slot of %u", descriptor->payload_len,
                        descriptor->payload_offset, extent->slot_size);
}

int hub_slot_class_refuse_free(uint32_t ref)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.freeing", "slot %#x was given back already",
                        ref);
}

int hub_slot_class_refuse_generation(const struct hub_descriptor *descriptor, uint32_t found,
                                     const char *when)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.slot.generation",
                        "slot %#x has generation %u %s, its descriptor says %u",
                        descriptor->payload_slot, found, when, descriptor->payload_generation);
}

int hub_slot_class_copy(const struct hub_slot_map *map, const struct hub_descriptor *descriptor,
                        void *to)
{
    hub_streaming_copy_fetch(to, hub_slot_class_payload(map, descriptor), descriptor->payload_len);
    return hub_slot_class_check_generation(hub_slot_class_meta(map, descriptor->payload_slot),
                                           descriptor, "behind its payload");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A header, a peer's entry and headers of size classes from any bytes: accepted regions lie inside
 * the file, aligned, and do not overlap. */
#include <string.h>

#include "hub/shm/geometry.h"
#include "tests/fuzz/fuzz.h"

#define FIXED (128 + 64 + 4 + 8)

struct region {
    uint64_t offset, size;
};

static void check_apart(const struct region *regions, size_t count, uint64_t total)
{
    for (size_t i = 0; i < count; i++) {
        FUZZ_HOLDS(regions[i].offset <= total && regions[i].size <= total - regions[i].offset);
        for (size_t j = 0; j < i; j++)
            FUZZ_HOLDS(regions[i].offset + regions[i].size <= regions[j].offset ||
                       regions[j].offset + regions[j].size <= regions[i].offset);
    }
}

static void check_common(const struct hub_foreign *foreign, const struct hub_geometry *geometry,
                         const struct hub_peer_place *place)
{
    FUZZ_HOLDS(foreign->peer >= 1 && foreign->peer <= geometry->limits.guests_max);
    FUZZ_HOLDS(geometry->total_size <= foreign->file_size);
    FUZZ_HOLDS((geometry->limits.ring_size & (geometry->limits.ring_size - 1)) == 0);
    FUZZ_HOLDS(geometry->limits.ring_size >= 2);
    FUZZ_HOLDS(place->guest_to_host_ring % 64 == 0 && place->guest_pool % 64 == 0);
    FUZZ_HOLDS(place->channel_table % 8 == 0 && place->entry % 64 == 0);
}

/* The regions that both kinds have come first. */
#define COMMON 5

static void list_common(const struct hub_geometry *geometry, const struct hub_peer_place *place,
                        struct region regions[COMMON])
{
    uint64_t ring = UINT64_C(64) * geometry->limits.ring_size;

    regions[0] = (struct region){0, HUB_HEADER_SIZE};
    regions[1] = (struct region){place->entry, sizeof(struct hub_peer_entry)};
    regions[2] = (struct region){place->guest_to_host_ring, ring};
    regions[3] = (struct region){place->host_to_guest_ring, ring};
    regions[4] = (struct region){place->channel_table,
                                 geometry->limits.channels_max * sizeof(struct hub_channel_entry)};
}

static void check_pools(const struct hub_geometry *geometry, const struct hub_peer_place *place)
{
    struct region regions[COMMON + 2] = {
        [COMMON] = {place->guest_pool, geometry->pool_size},
        [COMMON + 1] = {geometry->slot_region, geometry->pool_size},
    };

    list_common(geometry, place, regions);
    FUZZ_HOLDS(geometry->bitmap_size * 8 >= geometry->limits.slot_count);
    FUZZ_HOLDS(geometry->pool_size - geometry->bitmap_size ==
               (uint64_t)geometry->limits.slot_count * geometry->limits.slot_size);
    check_apart(regions, sizeof(regions) / sizeof(regions[0]), geometry->total_size);
}

/* Computed here once more: header, 16 bytes for each slot, slots. */
static uint64_t extent_size(const struct hub_size_class *of)
{
    return 64 + ((UINT64_C(16) * of->slots_per_extent + 63) & ~UINT64_C(63)) +
           (uint64_t)of->slots_per_extent * of->slot_size;
}

static uint32_t list_extents(const struct hub_size_class *of, struct region *regions)
{
    uint32_t count = 0;

    FUZZ_HOLDS(of->extent_count >= 1 && of->extent_count <= HUB_EXTENTS_MAX);
    FUZZ_HOLDS(of->slots_per_extent >= 1 && of->slots_per_extent <= HUB_SLOTS_PER_EXTENT_MAX);
    FUZZ_HOLDS(of->extents[0] != HUB_EXTENT_OWN_MEMORY);
    for (uint32_t e = 0; e < of->extent_count; e++)
        if (of->extents[e] != HUB_EXTENT_OWN_MEMORY) {
            FUZZ_HOLDS(of->extents[e] % 64 == 0);
            regions[count++] = (struct region){of->extents[e], extent_size(of)};
        }
    return count;
}

static void check_classes(const struct hub_foreign *foreign, const struct hub_geometry *geometry,
                          const struct hub_peer_place *place)
{
    const struct hub_size_classes *classes = &geometry->classes;
    uint64_t block = (16 * classes->count + 63) / 64 * 64, size = 0;
    struct region regions[COMMON + 1 + HUB_CLASSES_MAX * HUB_EXTENTS_MAX] = {
        [COMMON] = {classes->base, 64 * classes->count + geometry->limits.guests_max * block}};
    uint32_t count = COMMON + 1;

    list_common(geometry, place, regions);
    FUZZ_HOLDS(classes->count <= HUB_CLASSES_MAX && classes->base == geometry->slot_region);
    FUZZ_HOLDS(geometry->limits.slot_size == 0 && geometry->limits.slot_count == 0);
    check_apart(regions, count, geometry->total_size);
    for (uint32_t c = 0; c < classes->count; c++) {
        FUZZ_HOLDS(classes->of[c].slot_size > size && classes->of[c].slot_size % 64 == 0);
        size = classes->of[c].slot_size;
        count += list_extents(&classes->of[c], &regions[count]);
    }
    FUZZ_HOLDS(size >= geometry->limits.payload_max);
    check_apart(regions, count, foreign->file_size);
}

/* 128 bytes header, 64 bytes entry, u32 peer, u64 size of the file; headers of classes, 64 bytes
 * each. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hub_foreign foreign = {.peer = 0};
    struct hub_geometry geometry;
    struct hub_peer_place place;

    if (size < FIXED || size > FIXED + sizeof(foreign.classes))
        return 0;
    memcpy(&foreign.header, data, 128);
    memcpy(&foreign.entry, data + 128, 64);
    memcpy(&foreign.peer, data + 192, 4);
    memcpy(&foreign.file_size, data + 196, 8);
    memcpy(foreign.classes, data + FIXED, size - FIXED);
    if (hub_geometry_read(&foreign, &geometry, &place) < 0)
        return 0;
    check_common(&foreign, &geometry, &place);
    if (geometry.classes.count > 0)
        check_classes(&foreign, &geometry, &place);
    else
        check_pools(&geometry, &place);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A header and a peer's entry from any bytes: what is accepted lies inside of the file, aligned, no
 * part over another. */
#include <string.h>

#include "hub/shm/geometry.h"
#include "tests/fuzz/fuzz.h"

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

static void check(const struct hub_foreign *foreign, const struct hub_geometry *geometry,
                  const struct hub_peer_place *place)
{
    uint64_t ring = UINT64_C(64) * geometry->limits.ring_size;
    const struct region regions[] = {
        {0, HUB_HEADER_SIZE},
        {place->entry, sizeof(struct hub_peer_entry)},
        {place->guest_to_host_ring, ring},
        {place->host_to_guest_ring, ring},
        {place->channel_table, geometry->limits.channels_max * sizeof(struct hub_channel_entry)},
        {place->guest_pool, geometry->pool_size},
        {geometry->slot_region, geometry->pool_size},
    };

    FUZZ_HOLDS(foreign->peer >= 1 && foreign->peer <= geometry->limits.guests_max);
    FUZZ_HOLDS(geometry->total_size <= foreign->file_size);
    FUZZ_HOLDS((geometry->limits.ring_size & (geometry->limits.ring_size - 1)) == 0);
    FUZZ_HOLDS(geometry->limits.ring_size >= 2);
    FUZZ_HOLDS(place->guest_to_host_ring % 64 == 0 && place->guest_pool % 64 == 0);
    FUZZ_HOLDS(place->channel_table % 8 == 0 && place->entry % 64 == 0);
    FUZZ_HOLDS(geometry->bitmap_size * 8 >= geometry->limits.slot_count);
    FUZZ_HOLDS(geometry->pool_size - geometry->bitmap_size ==
               (uint64_t)geometry->limits.slot_count * geometry->limits.slot_size);
    check_apart(regions, sizeof(regions) / sizeof(regions[0]), geometry->total_size);
}

/* 128 bytes header, 64 bytes entry, u32 peer, u64 size of the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hub_foreign foreign = {.peer = 0};
    struct hub_geometry geometry;
    struct hub_peer_place place;

    if (size != 128 + 64 + 4 + 8)
        return 0;
    memcpy(&foreign.header, data, 128);
    memcpy(&foreign.entry, data + 128, 64);
    memcpy(&foreign.peer, data + 192, 4);
    memcpy(&foreign.file_size, data + 196, 8);
    if (hub_geometry_read(&foreign, &geometry, &place) == 0)
        check(&foreign, &geometry, &place);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* commit: ranges need not begin at a page. A page shared by two ranges is reserved with the first.
 */
#include "hub/shm/commit.h"

#include <sys/vfs.h>

#include "hub/base/check.h"

static int take_pools(const struct hub_mapping *file, const struct hub_geometry *geometry)
{
    int r = hub_mapping_take(file, 0, geometry->slot_region + geometry->pool_size);

    for (uint32_t peer = 1; r == 0 && peer <= geometry->limits.guests_max; peer++)
        r = hub_mapping_take(file, geometry->slot_region + peer * geometry->pool_size,
                             geometry->bitmap_size);
    return r;
}

static int take_classes(const struct hub_mapping *file, const struct hub_geometry *geometry)
{
    const struct hub_size_classes *classes = &geometry->classes;
    uint64_t head = hub_size_classes_head_size(classes, geometry->limits.guests_max);
    int r = hub_mapping_take(file, 0, classes->base + head);

    for (uint32_t c = 0; r == 0 && c < classes->count; c++)
        r = hub_mapping_take(file, classes->of[c].extents[0],
                             hub_size_classes_data_offset(&classes->of[c]));
    return r;
}

/* r[impl hub.file.room] */
int hub_commit_shared(const struct hub_mapping *file, const struct hub_geometry *geometry)
{
    int r = geometry->classes.count > 0 ? take_classes(file, geometry) : take_pools(file, geometry);

    for (uint32_t peer = 1; geometry->limits.strangers && peer <= geometry->limits.guests_max;
         peer++)
        if (r == 0)
            r = hub_commit_peer(file, geometry, peer);
    return r;
}

int hub_commit_peer(const struct hub_mapping *file, const struct hub_geometry *geometry,
                    uint32_t peer)
{
    struct hub_peer_place place;
    int r;

    hub_geometry_place(geometry, peer, &place);
    r = hub_mapping_take(file, place.guest_to_host_ring, geometry->guest_stride);
    if (r == 0 && geometry->classes.count == 0)
        r = hub_mapping_take(file, place.guest_pool, geometry->pool_size);
    return r;
}

int hub_commit_slots(const struct hub_mapping *file, const struct hub_size_class *size_class,
                     uint32_t from, uint32_t count)
{
    uint64_t first = size_class->extents[0] + hub_size_classes_data_offset(size_class);

    CHECK(from <= size_class->slots_per_extent && count <= size_class->slots_per_extent - from);
    return hub_mapping_take(file, first + (uint64_t)from * size_class->slot_size,
                            (uint64_t)count * size_class->slot_size);
}

bool hub_commit_is_ample(const struct hub_mapping *file, uint64_t bytes)
{
    struct statfs system;

    return fstatfs(file->fd, &system) == 0 && system.f_bsize > 0 &&
           (uint64_t)system.f_bavail >= 2 * bytes / (uint64_t)system.f_bsize;
}

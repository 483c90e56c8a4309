/* SPDX-License-Identifier: Apache-2.0 */
/* slot_growth: after a failure there is no new attempt for a while, because a full /dev/shm must
 * not cost a system call for each message. */
#include "hub/shm/slot_growth.h"

#include <errno.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/shm/doorbell.h"

#define PATIENCE HUB_SECOND /* after an attempt failed */

void hub_slot_growth_init(struct hub_slot_growth *growth, const struct hub_slot_map *map,
                          const struct hub_slot_growth_plan *plan)
{
    *growth = (struct hub_slot_growth){
        .file = plan->file, .current_size = plan->current_size, .most = plan->most, .bell = -1};
    hub_mapping_init(&growth->made);
    growth->end = plan->file ? plan->file->size : 0;
    growth->used = hub_size_classes_bytes(&map->places);
}

void hub_slot_growth_fini(struct hub_slot_growth *growth)
{
    if (growth->unsent)
        hub_mapping_fini(&growth->made);
    *growth = (struct hub_slot_growth){.bell = -1};
}

static int make_memory(struct hub_slot_growth *growth, uint64_t size)
{
    if (growth->file)
        return hub_mapping_append(growth->file, growth->end, size, &growth->made);
    return hub_mapping_create_sealed("rapahub-extent", size, &growth->made);
}

bool hub_slot_growth_wants(const struct hub_slot_growth *growth, const struct hub_slot_map *map,
                           uint32_t size_class)
{
    uint64_t size = hub_size_classes_extent_size(&map->places.of[size_class]);

    if (map->of[size_class].extent_count >= HUB_EXTENTS_MAX)
        return false;
    if (growth->unsent)
        return growth->made_name.size_class == size_class;
    return growth->most >= size && growth->used <= growth->most - size &&
           hub_clock_left(growth->not_before_ns) == 0;
}

static int make(struct hub_slot_growth *growth, const struct hub_slot_map *map,
                struct hub_extent_name name)
{
    const struct hub_size_class *place = &map->places.of[name.size_class];
    uint64_t size = hub_size_classes_extent_size(place);
    int r;

    r = make_memory(growth, size);
    if (r < 0) {
        growth->not_before_ns = hub_clock_after(PATIENCE);
        rapahub_log(RAPAHUB_LOG_WARN, "slots", "no more slots of %u bytes: %s", place->slot_size,
                    rapahub_last_error()->text);
        return -EAGAIN;
    }
    hub_size_classes_format_extent(place, name, growth->made.data);
    growth->used += size;
    growth->made_name = name;
    return 0;
}

/* A guest is told of an extent with its own memory before the first slot of it is granted or sent:
 * both come after the byte. r[impl shm.varslot.extents] */
static bool tell(struct hub_slot_growth *growth)
{
    if (growth->file)
        return true;
    if (growth->bell < 0 || !hub_doorbell_send(growth->bell, growth->made.fd))
        return false;
    close(growth->made.fd);
    growth->made.fd = -1;
    return true;
}

static void publish(struct hub_slot_growth *growth, struct hub_slot_map *map)
{
    struct hub_size_class_header *header = map->of[growth->made_name.size_class].header;
    uint32_t extent = growth->made_name.extent;
    uint64_t offset = HUB_EXTENT_OWN_MEMORY;

    if (growth->file) {
        offset = hub_mapping_page_align(growth->end);
        growth->end = offset + growth->made.size;
    }
    hub_publish64(&header->extent_offsets[extent], offset);
    hub_publish(&header->extent_count, extent + 1);
    if (growth->current_size)
        hub_publish64(growth->current_size, growth->end);
    hub_slot_class_add(map, growth->made_name, &growth->made);
}

int hub_slot_growth_add(struct hub_slot_growth *growth, struct hub_slot_map *map,
                        uint32_t size_class)
{
    const struct hub_extent_name name = {size_class, map->of[size_class].extent_count};

    CHECK(hub_slot_growth_wants(growth, map, size_class));
    if (!growth->unsent && make(growth, map, name) < 0)
        return -EAGAIN;
    growth->unsent = !tell(growth);
    if (growth->unsent)
        return -EAGAIN;
    publish(growth, map);
    return 0;
}

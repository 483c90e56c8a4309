/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/id_map.h"

#include <errno.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/memory.h"

/* Twice as many slots must still be a power of two in 32 bits. */
#define CAPACITY_MAX (UINT32_C(1) << 30)

struct slot {
    uint64_t number;
    void *value; /* NULL: empty */
};

struct hub_id_map {
    uint32_t capacity, count;
    uint32_t mask; /* slots - 1 */
    struct slot slots[];
};

static size_t size_of(uint32_t slots)
{
    return sizeof(struct hub_id_map) + slots * sizeof(struct slot);
}

int hub_id_map_create(uint32_t capacity, struct hub_id_map **out)
{
    uint32_t slots = 4;
    struct hub_id_map *map = NULL;

    while (slots / 2 < capacity && slots / 2 < CAPACITY_MAX)
        slots *= 2;
    if (capacity <= CAPACITY_MAX)
        map = hub_memory_sparse(size_of(slots));
    if (!map)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a map of %u entries", capacity);
    map->capacity = capacity;
    map->mask = slots - 1;
    *out = map;
    return 0;
}

void hub_id_map_release(struct hub_id_map **map)
{
    if (*map)
        hub_memory_free_sparse(*map, size_of((*map)->mask + 1));
    *map = NULL;
}

static uint32_t home_of(const struct hub_id_map *map, uint64_t number)
{
    return (uint32_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & map->mask;
}

/* Returns the slot of the number, or the empty slot where it belongs. */
static uint32_t seek(const struct hub_id_map *map, uint64_t number)
{
    uint32_t at = home_of(map, number);

    while (map->slots[at].value && map->slots[at].number != number)
        at = (at + 1) & map->mask;
    return at;
}

int hub_id_map_put(struct hub_id_map *map, uint64_t number, void *value)
{
    struct slot *slot = &map->slots[seek(map, number)];

    CHECK(value);
    if (slot->value)
        return -EEXIST;
    if (map->count == map->capacity)
        return -ENOSPC;
    *slot = (struct slot){number, value};
    map->count++;
    return 0;
}

void *hub_id_map_get(const struct hub_id_map *map, uint64_t number)
{
    return map->slots[seek(map, number)].value;
}

/* Moves up entries that could no longer be found because of the hole, so there are no
 * tombstones. */
static void close_hole(struct hub_id_map *map, uint32_t hole)
{
    uint32_t at = hole;

    for (;;) {
        uint32_t home;

        at = (at + 1) & map->mask;
        if (!map->slots[at].value)
            return;
        home = home_of(map, map->slots[at].number);
        if (((at - home) & map->mask) < ((at - hole) & map->mask))
            continue;
        map->slots[hole] = map->slots[at];
        map->slots[at].value = NULL;
        hole = at;
    }
}

void *hub_id_map_remove(struct hub_id_map *map, uint64_t number)
{
    uint32_t at = seek(map, number);
    void *value = map->slots[at].value;

    if (!value)
        return NULL;
    map->slots[at].value = NULL;
    map->count--;
    close_hole(map, at);
    return value;
}

void hub_id_map_each(const struct hub_id_map *map, void (*visit)(void *user, uint64_t, void *value),
                     void *user)
{
    for (uint32_t i = 0; i <= map->mask; i++)
        if (map->slots[i].value)
            visit(user, map->slots[i].number, map->slots[i].value);
}

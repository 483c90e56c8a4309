/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/id_map.h"

#include <errno.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/memory.h"

/* Twice as many slots must still be a power of two in 32 bits. */
#define CAPACITY_MAX (UINT32_C(1) << 30)
#define SLOTS_FIRST  64 /* in use at first */

struct slot {
    uint64_t number;
    void *value; /* NULL: empty */
};

/* Only as many slots are used as the entries need, so that few entries of a large map lie in few
 * pages. The first ones are followed by twice as many, and so on: there is always space to grow. */
struct hub_id_map {
    uint32_t capacity, count;
    uint32_t mask;      /* slots in use - 1 */
    uint32_t last;      /* slots - 1 of a full map */
    struct slot *slots; /* the ones in use */
    struct slot all[];
};

static uint32_t first_of(uint32_t slots)
{
    return slots < SLOTS_FIRST ? slots : SLOTS_FIRST;
}

static size_t size_of(uint32_t slots)
{
    return sizeof(struct hub_id_map) + (2 * (size_t)slots - first_of(slots)) * sizeof(struct slot);
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
    map->mask = first_of(slots) - 1;
    map->last = slots - 1;
    map->slots = map->all;
    *out = map;
    return 0;
}

void hub_id_map_release(struct hub_id_map **map)
{
    if (*map)
        hub_memory_free_sparse(*map, size_of((*map)->last + 1));
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

/* The next slots, twice as many as were in use, follow them. */
static __attribute__((noinline)) void grow(struct hub_id_map *map)
{
    struct slot *before = map->slots;
    uint32_t count = map->mask + 1;

    map->slots = before + count;
    map->mask = 2 * count - 1;
    for (uint32_t i = 0; i < count; i++)
        if (before[i].value)
            map->slots[seek(map, before[i].number)] = before[i];
    hub_memory_forget(before, count * sizeof *before);
}

int hub_id_map_put(struct hub_id_map *map, uint64_t number, void *value)
{
    uint32_t at = seek(map, number);

    CHECK(value);
    if (map->slots[at].value)
        return -EEXIST;
    if (map->count == map->capacity)
        return -ENOSPC;
    if (map->count > map->mask / 2 && map->mask < map->last) {
        grow(map);
        at = seek(map, number);
    }
    map->slots[at] = (struct slot){number, value};
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/index.h"

#include <stddef.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/memory.h"

#define MAX   (UINT32_C(1) << 30) /* twice as many are a power of two in 32 bits */
#define FIRST 128                 /* slots that are used at first */

static uint32_t first_of(uint32_t slots)
{
    return slots < FIRST ? slots : FIRST;
}

/* The first slots are followed by twice as many, and so on. */
static size_t size_of(const struct cluster_index *index)
{
    size_t slots = (size_t)index->last + 1;

    return (2 * slots - first_of(index->last + 1)) * sizeof *index->slots;
}

int cluster_index_init(struct cluster_index *index, uint32_t max, uint64_t secret)
{
    uint32_t slots = 4;

    CHECK(max > 0 && max <= MAX);
    while (slots / 2 < max)
        slots *= 2;
    *index = (struct cluster_index){
        .mask = first_of(slots) - 1, .last = slots - 1, .max = max, .secret = secret};
    index->slots = index->all = hub_memory_sparse(size_of(index));
    return index->slots ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an index of %u", max);
}

void cluster_index_fini(struct cluster_index *index)
{
    if (index->all)
        hub_memory_free_sparse(index->all, size_of(index));
    *index = (struct cluster_index){0};
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    return bits ^ bits >> 31;
}

uint32_t cluster_index_hash(const struct cluster_index *index, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bits = mix(index->secret ^ a);

    bits = mix(bits + b);
    return (uint32_t)(mix(bits + c + index->secret) >> 32);
}

static uint32_t find(const struct cluster_index *index, struct cluster_index_cursor *cursor)
{
    for (;; cursor->at = (cursor->at + 1) & index->mask) {
        const struct cluster_index_slot *slot = &index->slots[cursor->at];

        if (slot->place == 0 || slot->hash == cursor->hash)
            return slot->place;
    }
}

uint32_t cluster_index_first(const struct cluster_index *index, uint32_t hash,
                             struct cluster_index_cursor *cursor)
{
    *cursor = (struct cluster_index_cursor){hash, hash & index->mask};
    return find(index, cursor);
}

uint32_t cluster_index_next(const struct cluster_index *index, struct cluster_index_cursor *cursor)
{
    cursor->at = (cursor->at + 1) & index->mask;
    return find(index, cursor);
}

static void enter(struct cluster_index *index, uint32_t hash, uint32_t place)
{
    uint32_t at = hash & index->mask;

    while (index->slots[at].place != 0)
        at = (at + 1) & index->mask;
    index->slots[at] = (struct cluster_index_slot){hash, place};
}

/* The next slots, twice as many as were used, follow them. */
static void grow(struct cluster_index *index)
{
    struct cluster_index_slot *before = index->slots;
    uint32_t count = index->mask + 1;

    index->slots = before + count;
    index->mask = 2 * count - 1;
    for (uint32_t i = 0; i < count; i++)
        if (before[i].place != 0)
            enter(index, before[i].hash, before[i].place);
    hub_memory_forget(before, count * sizeof *before);
}

void cluster_index_put(struct cluster_index *index, uint32_t hash, uint32_t place)
{
    CHECK(place != 0 && index->count < index->max);
    if (index->count > index->mask / 2 && index->mask < index->last)
        grow(index);
    enter(index, hash, place);
    index->count++;
}

/* Moves up places that could no longer be found because of the hole. */
static void close_hole(struct cluster_index *index, uint32_t hole)
{
    for (uint32_t at = (hole + 1) & index->mask; index->slots[at].place != 0;
         at = (at + 1) & index->mask) {
        uint32_t home = index->slots[at].hash & index->mask;

        if (((at - home) & index->mask) < ((at - hole) & index->mask))
            continue;
        index->slots[hole] = index->slots[at];
        hole = at;
    }
    index->slots[hole] = (struct cluster_index_slot){0};
}

void cluster_index_remove(struct cluster_index *index, uint32_t hash, uint32_t place)
{
    struct cluster_index_cursor cursor;
    uint32_t found = cluster_index_first(index, hash, &cursor);

    while (found != place) {
        CHECK(found != 0);
        found = cluster_index_next(index, &cursor);
    }
    close_hole(index, cursor.at);
    index->count--;
}

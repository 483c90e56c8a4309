/* SPDX-License-Identifier: Apache-2.0 */
/* slots_classes: slots of several sizes, as links use them. */
#include "hub/base/own.h"
#include "hub/shm/slot_grants.h"
#include "hub/shm/slots_kind.h"

int hub_slots_classes_allocator_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                                     struct hub_slot_loan *out)
{
    return hub_slot_allocator_loan(slots->allocator, peer, size, out);
}

static int allocator_loan_cold(struct hub_slots *slots, uint32_t peer, size_t size,
                               struct hub_slot_loan *out)
{
    return hub_slot_allocator_loan_cold(slots->allocator, peer, size, out);
}

static int cache_loan_cold(struct hub_slots *slots, uint32_t peer, size_t size,
                           struct hub_slot_loan *out)
{
    (void)peer;
    return hub_slot_cache_loan_cold(slots->cache, size, out);
}

#define PIECE 65536 /* bytes; there are few larger slots */

static size_t largest_of(const struct hub_slot_map *map)
{
    return map->of[map->count - 1].slot_size;
}

static size_t piece_of(const struct hub_slot_map *map)
{
    uint32_t c = map->count - 1;

    while (c > 0 && map->of[c].slot_size > PIECE)
        c--;
    return map->of[c].slot_size;
}

static size_t allocator_largest(const struct hub_slots *slots)
{
    return largest_of(&slots->allocator->map);
}

static size_t allocator_piece(const struct hub_slots *slots)
{
    return piece_of(&slots->allocator->map);
}

static void allocator_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_allocator_drop(slots->allocator, slot);
}

static bool allocator_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    return hub_slot_allocator_ready(slots->allocator, peer, size);
}

static int allocator_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                          void *to)
{
    return hub_slot_allocator_accept(in->own->allocator, in->peer, descriptor, to);
}

static int allocator_copy(const struct hub_slots_in *in, const struct hub_descriptor *part,
                          void *to)
{
    return hub_slot_class_copy(&in->own->allocator->map, part, to);
}

static int allocator_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_grants_free(in->own->allocator, slot);
}

int hub_slots_classes_allocator_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot)
{
    return hub_slot_grants_give_back(in->own->allocator, slot);
}

static void halves(struct hub_a64 *head, struct hub_a32 *out[2])
{
    out[0] = (struct hub_a32 *)(void *)head;
    out[1] = out[0] + 1;
}

/* Half of the guest's slots, counting no more than its share. The words live as long as the
 * allocator. */
static UNCHECKED const struct hub_a32 *allocator_holds(const struct hub_slots_in *in, uint32_t slot,
                                                       struct hub_a32 *constant)
{
    return slot >> 24 < in->own->allocator->map.count
               ? &in->own->allocator->of[slot >> 24].may_hold[in->peer]
               : constant;
}

int hub_slots_classes_allocator_show(struct hub_slots_in *in,
                                     const struct hub_descriptor *descriptor,
                                     struct hub_slot_held *out, const uint8_t **data)
{
    return hub_slot_allocator_show(in->own->allocator, in->peer, descriptor, out, data);
}

static void allocator_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    halves(&hub_slot_class_peer(&in->own->allocator->map, in->peer, slot >> 24)->free_head, out);
}

static uint32_t allocator_take_back(struct hub_slots *slots, uint32_t peer)
{
    return hub_slot_grants_reclaim(slots->allocator, peer);
}

static void allocator_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    hub_slot_allocator_count(slots->allocator, out);
}

static void allocator_fini(struct hub_slots *slots)
{
    hub_slot_allocator_fini(slots->allocator);
    hub_memory_release(&slots->allocator);
}

int hub_slots_classes_cache_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                                 struct hub_slot_loan *out)
{
    (void)peer;
    return hub_slot_cache_loan(slots->cache, size, out);
}

static size_t cache_largest(const struct hub_slots *slots)
{
    return largest_of(&slots->cache->map);
}

static size_t cache_piece(const struct hub_slots *slots)
{
    return piece_of(&slots->cache->map);
}

static void cache_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_cache_drop(slots->cache, slot);
}

static bool cache_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    (void)peer;
    return hub_slot_cache_ready(slots->cache, size);
}

static void cache_rest(struct hub_slots *slots)
{
    hub_slot_cache_rest(slots->cache);
}

static int cache_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return hub_slot_cache_accept(in->own->cache, descriptor, to);
}

static int cache_copy(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to)
{
    return hub_slot_class_copy(&in->own->cache->map, part, to);
}

static int cache_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_cache_free(in->own->cache, slot);
}

int hub_slots_classes_cache_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot)
{
    return hub_slot_cache_give_back(in->own->cache, slot);
}

/* Half of the slots that the host has for each guest. */
static const struct hub_a32 *cache_holds(const struct hub_slots_in *in, uint32_t slot,
                                         struct hub_a32 *constant)
{
    const struct hub_slot_map *map = &in->own->cache->map;
    uint32_t c = slot >> 24;

    if (c < map->count)
        hub_store_relaxed(constant, hub_slot_class_share(map, c, in->own->cache->guests_max) / 2);
    return constant;
}

int hub_slots_classes_cache_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                                 struct hub_slot_held *out, const uint8_t **data)
{
    return hub_slot_cache_show(in->own->cache, descriptor, out, data);
}

static void cache_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    halves(&in->own->cache->map.of[slot >> 24].header->free_head, out);
}

static void cache_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    uint32_t free = hub_slot_cache_free_count(slots->cache);

    *out = (struct hub_slot_counts){.total = free, .free = free};
}

static void cache_fini(struct hub_slots *slots)
{
    hub_slot_cache_fini(slots->cache);
    hub_memory_release(&slots->cache);
}

const struct hub_slots_kind hub_slots_classes_allocator = {
    .loan = hub_slots_classes_allocator_loan,
    .loan_cold = allocator_loan_cold,
    .largest = allocator_largest,
    .piece = allocator_piece,
    .drop = allocator_drop,
    .ready = allocator_ready,
    .take = allocator_take,
    .copy = allocator_copy,
    .release = allocator_release,
    .give_back = hub_slots_classes_allocator_give_back,
    .holds = allocator_holds,
    .show = hub_slots_classes_allocator_show,
    .words = allocator_words,
    .take_back = allocator_take_back,
    .count = allocator_count,
    .fini = allocator_fini,
};
const struct hub_slots_kind hub_slots_classes_cache = {
    .loan = hub_slots_classes_cache_loan,
    .loan_cold = cache_loan_cold,
    .largest = cache_largest,
    .piece = cache_piece,
    .drop = cache_drop,
    .ready = cache_ready,
    .rest = cache_rest,
    .take = cache_take,
    .copy = cache_copy,
    .release = cache_release,
    .give_back = hub_slots_classes_cache_give_back,
    .holds = cache_holds,
    .show = hub_slots_classes_cache_show,
    .words = cache_words,
    .count = cache_count,
    .fini = cache_fini,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/stage_slots.h"

#include <sys/mman.h>

#include <rapahub/error.h>

static const struct hub_limits limits[] = {
    [STAGE_POOLS] = {.payload_max = 252,
                     .credit_size = 256,
                     .guests_max = 2,
                     .ring_size = 4,
                     .slot_size = 256,
                     .slot_count = STAGE_SLOTS,
                     .channels_max = 4},
    [STAGE_CLASSES] = {.payload_max = STAGE_PAYLOAD_MAX,
                       .credit_size = 256,
                       .guests_max = 2,
                       .ring_size = 4,
                       .slot_size = 64,
                       .slot_count = STAGE_SLOTS,
                       .channels_max = 4,
                       .var_bytes_max = 1 << 20},
    [STAGE_PRIVATE_CLASSES] = {.payload_max = STAGE_PAYLOAD_MAX,
                               .credit_size = 256,
                               .guests_max = 1,
                               .ring_size = 4,
                               .slot_size = 64,
                               .slot_count = STAGE_SLOTS,
                               .channels_max = 4,
                               .var_bytes_max = 1 << 20},
};

int stage_slots_create(enum stage_memory memory, struct hub_segment **out)
{
    return hub_segment_create(&limits[memory], memory != STAGE_PRIVATE_CLASSES, out);
}

const uint32_t *stage_slots_sizes(enum stage_memory memory)
{
    static const uint32_t of_pool[] = {200, 0}, of_classes[] = {40, 200, 1400, 0};

    return memory == STAGE_POOLS ? of_pool : of_classes;
}

static struct hub_peer_class *block_of(const struct hub_slot_map *map, uint32_t size)
{
    return hub_slot_class_peer(map, 1, hub_slot_class_select(map, size));
}

int stage_slots_use_up(struct hub_slots *guest, uint32_t size)
{
    struct hub_slot_loan slot;
    int r = 0;

    for (uint32_t n = hub_load_relaxed(&block_of(&guest->cache->map, size)->granted);
         n > 0 && r == 0; n--)
        r = hub_slots_loan(guest, 1, size, &slot);
    return r;
}

/* Sends slots until there is one of `extent`. */
static int lend_until(struct hub_slots *host, uint32_t size, uint32_t extent, uint32_t most)
{
    struct hub_slot_loan slot = {.slot = 0};
    int r = 0;

    while (r == 0 && most-- > 0 && hub_slot_ref_unpack(slot.slot).extent < extent) {
        r = hub_slots_loan(host, 1, size, &slot);
        if (r == 0)
            hub_slots_sent(host, &slot);
    }
    return r;
}

static uint32_t count_reserve(struct hub_slot_allocator *allocator, uint32_t size)
{
    const struct hub_slot_allocator_class *of;
    uint32_t count;

    hub_mutex_lock(&allocator->lock);
    of = &allocator->of[hub_slot_class_select(&allocator->map, size)];
    count = of->in_reserve + of->untaken;
    hub_mutex_unlock(&allocator->lock);
    return count;
}

int stage_slots_lend_all(struct hub_slots *host, uint32_t size)
{
    return lend_until(host, size, HUB_EXTENTS_MAX, count_reserve(host->allocator, size));
}

int stage_slots_grow(struct hub_slots *host, uint32_t size)
{
    return lend_until(host, size, 1, UINT32_MAX);
}

void stage_slots_want(struct hub_slots *host, uint32_t size)
{
    hub_publish(&block_of(&host->allocator->map, size)->wanted, 1);
}

uint32_t stage_slots_grant(struct hub_slots *host, uint32_t size)
{
    stage_slots_want(host, size);
    return hub_slots_attend(host, 1);
}

void stage_slots_let_fork(const struct hub_slots *host)
{
    for (uint32_t c = 0; c < host->allocator->map.count; c++)
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX; e++) {
            const struct hub_mapping *memory = &host->allocator->map.of[c].memory[e];

            if (memory->data)
                (void)madvise(memory->data, memory->size, MADV_DOFORK);
        }
}

static int check_bitmap(const struct hub_segment_view *view, struct sweep_point *point)
{
    const struct hub_a64 *bitmap = (const struct hub_a64 *)(const void *)view->guest_pool;

    if (hub_load_relaxed64(bitmap) != (1u << STAGE_SLOTS) - 1)
        return sweep_fail(point, "guest bitmap is %llx",
                          (unsigned long long)hub_load_relaxed64(bitmap));
    return 0;
}

static int check_block(const struct hub_peer_class *block, uint32_t c, struct sweep_point *point)
{
    if (hub_slot_ref_first(hub_load_relaxed64(&block->free_head)) != HUB_SLOT_REF_NONE ||
        hub_load_relaxed(&block->wanted) != 0 || hub_load_relaxed(&block->granted) != 0)
        return sweep_fail(point, "class %u of the guest has head %llx, wants %u, has %u", c,
                          (unsigned long long)hub_load_relaxed64(&block->free_head),
                          hub_load_relaxed(&block->wanted), hub_load_relaxed(&block->granted));
    return 0;
}

static bool is_twice(const struct hub_slot_allocator_class *of, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (of->reserve[i] == of->reserve[at])
            return true;
    return false;
}

static int check_class(struct hub_slot_allocator *allocator, uint32_t c, struct sweep_point *point)
    REQUIRES(allocator->lock)
{
    const struct hub_slot_allocator_class *of = &allocator->of[c];

    if (of->in_reserve + of->untaken != of->total)
        return sweep_fail(point, "class %u: %u of %u slots", c, of->in_reserve, of->total);
    for (uint32_t i = 0; i < of->in_reserve; i++) {
        const struct hub_slot_meta *meta = hub_slot_class_meta(&allocator->map, of->reserve[i]);

        if (is_twice(of, i))
            return sweep_fail(point, "slot %#x is in the reserve twice", of->reserve[i]);
        if (hub_load_relaxed(&meta->state) != HUB_META_FREE ||
            hub_load_relaxed(&meta->owner_peer) != 0)
            return sweep_fail(point, "slot %#x has state %u and owner %u", of->reserve[i],
                              hub_load_relaxed(&meta->state), hub_load_relaxed(&meta->owner_peer));
    }
    return 0;
}

static int check_classes(struct hub_slot_allocator *allocator, uint32_t peer,
                         struct sweep_point *point)
{
    int r = 0;

    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = 0; c < allocator->map.count && r == 0; c++) {
        r = check_class(allocator, c, point);
        if (r == 0)
            r = check_block(hub_slot_class_peer(&allocator->map, peer, c), c, point);
    }
    hub_mutex_unlock(&allocator->lock);
    return r;
}

int stage_slots_check(struct hub_slots *host, const struct hub_segment_view *view, uint32_t peer,
                      struct sweep_point *point)
{
    struct hub_slot_counts counts;

    hub_slots_count(host, &counts);
    if (counts.free != counts.total || counts.granted != 0 || counts.stray != 0)
        return sweep_fail(point, "%u of %u slots are free, %u granted, %llu stray", counts.free,
                          counts.total, counts.granted, (unsigned long long)counts.stray);
    return view->guest_pool == view->host_pool ? check_classes(host->allocator, peer, point)
                                               : check_bitmap(view, point);
}

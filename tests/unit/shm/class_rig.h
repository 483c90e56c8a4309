/* SPDX-License-Identifier: Apache-2.0 */
/* class_rig: a slot allocator and the slot caches of two guests over one piece of memory. */
#ifndef TESTS_UNIT_SHM_CLASS_RIG_H
#define TESTS_UNIT_SHM_CLASS_RIG_H

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/shm/slot_allocator.h"
#include "hub/shm/slot_cache.h"
#include "hub/shm/slot_grants.h"
#include "tests/support/testing.h"

#define CLASS_RIG_GUESTS 2

/* Classes of 64, 1,024 and 4,096 bytes; for one guest 24, 8 and 8 slots in all, for two 24, 12 and
 * 12. */
struct class_rig {
    struct hub_geometry geometry;
    uint8_t *memory;
    struct hub_mapping segment; /* a mapping of that memory; no file */
    struct hub_slot_allocator allocator;
    struct hub_slot_cache caches[CLASS_RIG_GUESTS]; /* caches of peers 1 and 2 */
};

static bool class_rig_spoils; /* pushes fail, as where the other side changes the head each time */

bool __real_hub_slot_class_push(struct hub_slot_meta *meta, struct hub_a64 *head, uint32_t ref);
bool __wrap_hub_slot_class_push(struct hub_slot_meta *meta, struct hub_a64 *head, uint32_t ref);
bool __wrap_hub_slot_class_push(struct hub_slot_meta *meta, struct hub_a64 *head, uint32_t ref)
{
    return !class_rig_spoils && __real_hub_slot_class_push(meta, head, ref);
}

/* With other classes: for payloads of up to so many bytes. */
static inline struct class_rig *class_rig_begin_for(uint32_t guests, bool shared,
                                                    uint32_t payload_max)
{
    const struct hub_limits limits = {.payload_max = payload_max,
                                      .credit_size = 1024,
                                      .guests_max = guests,
                                      .ring_size = 4,
                                      .slot_size = 64,
                                      .slot_count = 24 / (guests + 1),
                                      .channels_max = 4};
    struct class_rig *rig = calloc(1, sizeof *rig);

    assert_non_null(rig);
    assert_int_equal(hub_geometry_compute(&limits, &rig->geometry), 0);
    rig->memory = aligned_alloc(64, rig->geometry.total_size);
    assert_non_null(rig->memory);
    memset(rig->memory, 0, rig->geometry.total_size);
    rig->segment = (struct hub_mapping){.data = rig->memory, .fd = -1};
    hub_size_classes_format(&rig->geometry.classes, guests, rig->memory);
    assert_int_equal(hub_slot_allocator_init(&rig->allocator, &rig->geometry, rig->memory, shared),
                     0);
    for (uint32_t peer = 1; peer <= guests; peer++) {
        hub_slot_grants_endow(&rig->allocator, peer);
        assert_int_equal(
            hub_slot_cache_init(&rig->caches[peer - 1], &rig->geometry, &rig->segment, peer), 0);
    }
    return rig;
}

static inline struct class_rig *class_rig_begin(uint32_t guests, bool shared)
{
    return class_rig_begin_for(guests, shared, 4096);
}

static inline void class_rig_end(struct class_rig *rig)
{
    for (uint32_t i = 0; i < CLASS_RIG_GUESTS; i++)
        hub_slot_cache_fini(&rig->caches[i]);
    hub_slot_allocator_fini(&rig->allocator);
    free(rig->memory);
    free(rig);
}

static inline void assert_broken(int r, const char *rule)
{
    assert_int_equal(r, RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

/* Slots as the descriptors of messages name them. */
static inline int note_loan(int r, const struct hub_slot_loan *loan, struct hub_descriptor *out)
{
    if (r < 0)
        return r;
    out->payload_slot = loan->slot;
    out->payload_generation = loan->generation;
    return 0;
}

static inline int allocator_loan(struct hub_slot_allocator *allocator, uint32_t peer, size_t size,
                                 struct hub_descriptor *out)
{
    struct hub_slot_loan loan;
    int r = hub_slot_allocator_loan(allocator, peer, size, &loan);

    return note_loan(r, &loan, out);
}

static inline int cache_loan(struct hub_slot_cache *cache, size_t size, struct hub_descriptor *out)
{
    struct hub_slot_loan loan;
    int r = hub_slot_cache_loan(cache, size, &loan);

    return note_loan(r, &loan, out);
}

static inline void allocator_sent(struct hub_slot_allocator *allocator, uint32_t ref)
{
    const struct hub_slot_held held =
        hub_slot_class_held_of(&allocator->map, ref, sizeof(struct hub_slot_allocator_record));
    struct hub_slot_allocator_record *record = held.record;

    hub_slot_class_sent(&(struct hub_slot_loan){.meta = held.meta, .state = &record->state});
}

static inline void cache_sent(struct hub_slot_cache *cache, uint32_t ref)
{
    const struct hub_slot_held held =
        hub_slot_class_held_of(&cache->map, ref, sizeof(struct hub_slot_cache_record));
    struct hub_slot_cache_record *record = held.record;

    hub_slot_class_sent(&(struct hub_slot_loan){.meta = held.meta, .state = &record->state});
}

/* A message of the guest `peer` in a slot, `size` bytes of `fill`. */
static inline struct hub_descriptor guest_sends(struct class_rig *rig, uint32_t peer, size_t size,
                                                uint8_t fill)
{
    struct hub_slot_cache *cache = &rig->caches[peer - 1];
    struct hub_descriptor descriptor = {.payload_len = (uint32_t)size};

    assert_int_equal(cache_loan(cache, size, &descriptor), 0);
    memset(hub_slot_class_data(&cache->map, descriptor.payload_slot), fill, size);
    cache_sent(cache, descriptor.payload_slot);
    return descriptor;
}

static inline struct hub_descriptor host_sends(struct class_rig *rig, uint32_t peer, size_t size,
                                               uint8_t fill)
{
    struct hub_descriptor descriptor = {.payload_len = (uint32_t)size};

    assert_int_equal(allocator_loan(&rig->allocator, peer, size, &descriptor), 0);
    memset(hub_slot_class_data(&rig->allocator.map, descriptor.payload_slot), fill, size);
    allocator_sent(&rig->allocator, descriptor.payload_slot);
    return descriptor;
}

static inline uint32_t allocator_free(struct hub_slot_allocator *allocator)
{
    struct hub_slot_counts counts;

    hub_slot_allocator_count(allocator, &counts);
    return counts.free;
}

static inline struct hub_slot_meta *meta_of(struct class_rig *rig, uint32_t ref)
{
    return hub_slot_class_meta(&rig->allocator.map, ref);
}

#endif

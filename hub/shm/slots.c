/* SPDX-License-Identifier: Apache-2.0 */
/* slots: one table of functions for each kind of slots. No other file depends on the kind. */
#include "hub/shm/slots.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/line.h"
#include "hub/base/own.h"
#include "hub/shm/slot_grants.h"
#include "hub/shm/slots_kind.h"

/* Calls the function of the kind. Two of the three kinds are called by name. */
#define OF_KIND(of, function, ...)                                                              \
    ((of)->kind == &hub_slots_classes_allocator                                                 \
         ? hub_slots_classes_allocator_##function(__VA_ARGS__)                                  \
     : (of)->kind == &hub_slots_classes_cache ? hub_slots_classes_cache_##function(__VA_ARGS__) \
                                              : (of)->kind->function(__VA_ARGS__))

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the slots of a segment");
}

static int init_pool(struct hub_slots *slots, const struct hub_segment *segment, uint8_t *memory)
{
    int r = hub_slot_pool_init(&slots->pool, &segment->geometry, memory, segment->shared);

    if (r == 0)
        slots->kind = &hub_slots_pool_kind;
    return r;
}

static int init_allocator(struct hub_slots *slots, const struct hub_segment *segment)
{
    const struct hub_geometry *geometry = &segment->geometry;
    struct hub_header *header = (struct hub_header *)(void *)segment->mapping.data;
    const struct hub_slot_growth_plan plan = {.file = segment->shared ? &segment->mapping : NULL,
                                              .current_size =
                                                  segment->shared ? &header->current_size : NULL,
                                              .most = geometry->limits.var_bytes_max};
    OWN(hub_memory) struct hub_slot_allocator *allocator = calloc(1, sizeof *allocator);
    int r;

    if (!allocator)
        return no_memory();
    r = hub_slot_allocator_init(allocator, geometry, segment->mapping.data, segment->shared);
    if (r < 0)
        return r;
    r = hub_slot_allocator_let_grow(allocator, &plan);
    if (r < 0) {
        hub_slot_allocator_fini(allocator);
        return r;
    }
    slots->allocator = TAKE(allocator);
    slots->kind = &hub_slots_classes_allocator;
    return 0;
}

static int init_cache(struct hub_slots *slots, const struct hub_segment *segment, uint32_t peer)
{
    OWN(hub_memory) struct hub_slot_cache *cache = calloc(1, sizeof *cache);
    int r;

    if (!cache)
        return no_memory();
    r = hub_slot_cache_init(cache, &segment->geometry, &segment->mapping, peer);
    if (r < 0)
        return r;
    slots->cache = TAKE(cache);
    slots->kind = &hub_slots_classes_cache;
    return 0;
}

/* r[impl hub.layout.pools] */
int hub_slots_init_host(struct hub_slots *slots, const struct hub_segment *segment)
{
    const struct hub_geometry *geometry = &segment->geometry;

    if (geometry->classes.count > 0)
        return init_allocator(slots, segment);
    return init_pool(slots, segment, segment->mapping.data + geometry->slot_region);
}

int hub_slots_init_guest(struct hub_slots *slots, const struct hub_segment *segment,
                         const struct hub_segment_view *view, uint32_t peer)
{
    if (segment->geometry.classes.count > 0)
        return init_cache(slots, segment, peer);
    return init_pool(slots, segment, view->guest_pool);
}

const struct hub_doorbell_inbox *hub_slots_connect(struct hub_slots *slots,
                                                   const struct hub_slots_line *line)
{
    if (slots->kind == &hub_slots_classes_allocator)
        hub_slot_allocator_set_bell(slots->allocator, line->bell);
    if (slots->kind != &hub_slots_classes_cache)
        return line->others;
    slots->cache->arrivals.others = line->others;
    hub_slot_cache_listen(slots->cache, line->hear, line->user);
    return &slots->cache->arrivals.inbox;
}

void hub_slots_fini(struct hub_slots *slots)
{
    if (!slots->kind)
        return;
    slots->kind->fini(slots);
    slots->kind = NULL;
}

/* r[impl hub.slot.quota] */
void hub_slots_set_guests(struct hub_slots *slots, uint32_t guests)
{
    uint32_t count = slots->pool.count;

    if (slots->kind == &hub_slots_classes_allocator)
        hub_slot_allocator_set_quota(slots->allocator, guests >= 2);
    else
        hub_slot_pool_set_quota(&slots->pool, guests >= 2 ? count / 2 : count);
}

int hub_slots_loan(struct hub_slots *slots, uint32_t peer, size_t size, struct hub_slot_loan *out)
{
    return OF_KIND(slots, loan, slots, peer, size, out);
}

bool hub_slots_has_cold(const struct hub_slots *slots)
{
    return slots->kind->loan_cold != NULL;
}

int hub_slots_loan_cold(struct hub_slots *slots, uint32_t peer, size_t size,
                        struct hub_slot_loan *out)
{
    return hub_slots_has_cold(slots) ? slots->kind->loan_cold(slots, peer, size, out)
                                     : hub_slots_loan(slots, peer, size, out);
}

uint32_t hub_slots_start(const struct hub_slots *slots)
{
    return slots->kind->start;
}

size_t hub_slots_largest(const struct hub_slots *slots)
{
    return slots->kind->largest(slots);
}

size_t hub_slots_piece(const struct hub_slots *slots)
{
    return slots->kind->piece(slots);
}

void hub_slots_sent(struct hub_slots *slots, const struct hub_slot_loan *loan)
{
    if (loan->meta)
        hub_slot_class_sent(loan);
    else
        hub_slot_pool_sent(&slots->pool, loan->slot);
}

void hub_slots_drop(struct hub_slots *slots, uint32_t slot)
{
    slots->kind->drop(slots, slot);
}

bool hub_slots_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    return slots->kind->ready(slots, peer, size);
}

bool hub_slots_shared(const struct hub_slots *slots)
{
    return slots->kind != &hub_slots_pool_kind || slots->pool.shared;
}

bool hub_slots_ask(const struct hub_slots *slots)
{
    return slots->kind == &hub_slots_classes_cache;
}

bool hub_slots_bare(const struct hub_slots *slots, size_t size)
{
    return slots->kind == &hub_slots_classes_cache && hub_slot_cache_bare(slots->cache, size);
}

int hub_slots_endow(struct hub_slots *slots, uint32_t peer)
{
    return slots->kind == &hub_slots_classes_allocator
               ? hub_slot_grants_endow(slots->allocator, peer)
               : 0;
}

uint32_t hub_slots_attend(struct hub_slots *slots, uint32_t peer)
{
    return slots->kind == &hub_slots_classes_allocator
               ? hub_slot_grants_attend(slots->allocator, peer)
               : 0;
}

void hub_slots_rest(struct hub_slots *slots)
{
    if (slots->kind->rest)
        slots->kind->rest(slots);
}

void hub_slots_take_back(struct hub_slots *slots, uint32_t peer)
{
    CHECK(slots->kind->take_back);
    (void)slots->kind->take_back(slots, peer);
}

void hub_slots_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    slots->kind->count(slots, out);
}

int hub_slots_in_init(struct hub_slots_in *in, struct hub_slots *own,
                      const struct hub_geometry *geometry, uint8_t *memory, uint32_t peer)
{
    int r = 0;
    bool pool = own->kind == &hub_slots_pool_kind;

    *in = (struct hub_slots_in){.own = own, .peer = peer, .class_shift = pool ? 32 : 24};
    if (pool)
        r = hub_slot_reader_init(&in->reader, geometry, memory);
    for (uint32_t c = 0; c < HUB_CLASSES_MAX; c++)
        in->most[c] = &in->constant[c];
    for (uint32_t c = 0; r == 0 && c < (pool ? 1 : HUB_CLASSES_MAX); c++)
        in->most[c] = own->kind->holds(in, c << 24, &in->constant[c]);
    return r;
}

void hub_slots_in_fini(struct hub_slots_in *in)
{
    if (in->reader.seen)
        hub_slot_reader_fini(&in->reader);
}

int hub_slots_in_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return in->own->kind->take(in, descriptor, to);
}

int hub_slots_in_copy(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to)
{
    return in->own->kind->copy(in, part, to);
}

uint32_t hub_slots_in_phase(const struct hub_slots_in *in, const struct hub_descriptor *descriptor)
{
    return (hub_slots_start(in->own) + descriptor->payload_offset) % HUB_LINE;
}

int hub_slots_in_free(struct hub_slots_in *in, uint32_t slot)
{
    return in->own->kind->release(in, slot);
}

void hub_slots_in_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    in->own->kind->words(in, slot, out);
}

int hub_slots_in_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                      struct hub_slot_held *out, const uint8_t **data)
{
    int r = OF_KIND(in->own, show, in, descriptor, out, data);
    struct hub_a32 *shown;

    if (r < 0)
        return r;
    shown = &in->shown[hub_slots_in_class(in, out->slot)];
    hub_store_relaxed(shown, hub_load_relaxed(shown) + 1); /* under the token */
    return 0;
}

void hub_slots_in_hide(struct hub_slots_in *in, uint32_t slot)
{
    (void)hub_add(&in->hidden[hub_slots_in_class(in, slot)], 1);
}

int hub_slots_in_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot)
{
    return OF_KIND(in->own, give_back, in, slot);
}

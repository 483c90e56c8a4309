/* SPDX-License-Identifier: Apache-2.0 */
/* slot_grants: the second half of the host's slot allocator. */
#include "hub/shm/slot_grants.h"

#include <rapahub/error.h>

#include "hub/shm/committed_slots.h"
#include "hub/shm/slot_allocator_state.h"

/* Bytes granted at one attend; the slot that reaches them is the last. They cover two of the
 * largest slots, so that one can be held as a view while the other is written. */
#define ONCE_MOST (UINT32_C(1280) << 10)

/* A failed push is retried at the next attend: a guest that prevents it forever harms itself. Until
 * then the slot stays held; otherwise a new descriptor could defer it twice, and the list would
 * become a circle. r[impl hub.slot.twice] */
static void give_held(struct hub_slot_allocator *allocator,
                      struct hub_slot_allocator_record *record, struct hub_slot_meta *meta,
                      uint32_t ref) REQUIRES(allocator->lock)
{
    struct hub_peer_class *block = hub_slot_class_peer(&allocator->map, record->peer, ref >> 24);

    record->held = !hub_slot_class_push(meta, &block->free_head, ref);
    if (!record->held)
        return;
    record->next = allocator->deferred;
    allocator->deferred = ref;
}

static void give(struct hub_slot_allocator *allocator, uint32_t ref) REQUIRES(allocator->lock)
{
    give_held(allocator, hub_slot_allocator_record_of(allocator, ref),
              hub_slot_class_meta(&allocator->map, ref), ref);
}

/* Each gets one try. */
static void give_deferred(struct hub_slot_allocator *allocator) REQUIRES(allocator->lock)
{
    uint32_t ref = allocator->deferred;

    allocator->deferred = HUB_SLOT_REF_NONE;
    while (ref != HUB_SLOT_REF_NONE) {
        uint32_t next = hub_slot_allocator_record_of(allocator, ref)->next;

        give(allocator, ref);
        ref = next;
    }
}

static void grant_top(struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t ref = of->reserve[--of->in_reserve];
    struct hub_slot_allocator_record *record = hub_slot_allocator_record_of(allocator, ref);
    struct hub_slot_meta *meta = hub_slot_class_meta(&allocator->map, ref);

    *record = (struct hub_slot_allocator_record){.generation = record->generation,
                                                 .state = {HUB_SLOT_ALLOCATOR_GRANTED},
                                                 .peer = (uint8_t)peer,
                                                 .next = HUB_SLOT_REF_NONE};
    hub_store_relaxed(&meta->owner_peer, peer);
    of->granted_sum++;
    of->granted[peer]++;
    hub_slot_allocator_note_granted(allocator, c, peer);
    give(allocator, ref);
}

/* A guest never has more than half of a class, however much it asks for. */
static bool has_all(const struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    return allocator->of[c].granted[peer] >= allocator->of[c].total / 2;
}

static uint32_t grant(struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer,
                      uint32_t wanted) REQUIRES(allocator->lock)
{
    struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t given = 0;

    if (of->in_reserve < wanted)
        (void)hub_slot_allocator_gather(allocator, c);
    while (given < wanted && !has_all(allocator, c, peer) &&
           hub_slot_allocator_replenish(allocator, c)) {
        grant_top(allocator, c, peer);
        given++;
    }
    return given;
}

/* r[impl hub.file.room] */
int hub_slot_grants_endow(struct hub_slot_allocator *allocator, uint32_t peer)
{
    bool few = hub_committed_slots_may_wait(allocator);
    int r = hub_committed_slots_share(allocator, few);

    if (r < 0)
        return r;
    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = 0; c < allocator->map.count; c++)
        (void)grant(allocator, c, peer, hub_committed_slots_first(allocator, c, few));
    hub_mutex_unlock(&allocator->lock);
    return 0;
}

/* Called at each sweep, without the lock. At worst a grant is delayed to the next sweep. */
static bool asks(const struct hub_slot_allocator *allocator, uint32_t peer)
{
    for (uint32_t c = 0; c < allocator->map.count; c++)
        if (hub_load_relaxed(&hub_slot_class_peer(&allocator->map, peer, c)->wanted) != 0)
            return true;
    return false;
}

/* Returns the number of slots for a guest that asks: its share, or beyond that a quarter of the
 * class more, divided by the guests. */
static uint32_t more(const struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    uint32_t share = hub_slot_class_share(&allocator->map, c, allocator->guests_max);
    uint32_t part = allocator->of[c].total / 4 / allocator->guests_max,
             has = allocator->of[c].granted[peer];

    if (has < share)
        return share;
    return has + (part > 0 ? part : 1);
}

static bool lacks(const struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    return allocator->of[c].granted[peer] < allocator->of[c].goal[peer];
}

/* Reads and clears the guest's request. A request that comes before an earlier one is met counts
 * once. */
static void heed(struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    struct hub_peer_class *block = hub_slot_class_peer(&allocator->map, peer, c);

    if (hub_load_relaxed(&block->wanted) == 0)
        return;
    hub_store_relaxed(&block->wanted, 0);
    give_deferred(allocator);
    (void)hub_slot_allocator_gather(allocator, c);
    if (!lacks(allocator, c, peer))
        allocator->of[c].goal[peer] = more(allocator, c, peer);
}

/* Grants one more of the slots that it asked for. False if there is none to grant. */
static bool grant_one(struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    if (!lacks(allocator, c, peer))
        return false;
    if (!has_all(allocator, c, peer) && hub_committed_slots_spare(allocator, c) &&
        grant(allocator, c, peer, 1) > 0)
        return true;
    allocator->of[c].goal[peer] = 0;
    return false;
}

/* Grants slots until ONCE_MOST bytes are reached, and returns their number. The rest is left to the
 * next attend, as if the guest had asked again. */
static uint32_t attend_class(struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer,
                             uint64_t *bytes) REQUIRES(allocator->lock)
{
    uint32_t given = 0;

    heed(allocator, c, peer);
    while (*bytes < ONCE_MOST && grant_one(allocator, c, peer)) {
        *bytes += allocator->map.of[c].slot_size;
        given++;
        hub_mutex_unlock(&allocator->lock);
        hub_mutex_lock(&allocator->lock);
    }
    if (lacks(allocator, c, peer))
        hub_store_relaxed(&hub_slot_class_peer(&allocator->map, peer, c)->wanted, 1);
    /* slots that it returns later must not be granted again unasked */
    else
        allocator->of[c].goal[peer] = 0;
    return given;
}

/* Grants slots singly: their pages may have to be reserved, and other threads wait for the lock.
 * The number is bounded because the calling thread has other work. */
uint32_t hub_slot_grants_attend(struct hub_slot_allocator *allocator, uint32_t peer)
{
    uint64_t bytes = 0;
    uint32_t given = 0;

    if (!asks(allocator, peer))
        return 0;
    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = 0; c < allocator->map.count && bytes < ONCE_MOST; c++)
        given += attend_class(allocator, c, peer, &bytes);
    hub_mutex_unlock(&allocator->lock);
    return given;
}

int hub_slot_grants_give_back(struct hub_slot_allocator *allocator,
                              const struct hub_slot_held *slot)
{
    struct hub_slot_allocator_record *record = slot->record;
    struct hub_slot_meta *meta = slot->meta;
    uint32_t ref = slot->slot;
    int r = 0;

    hub_mutex_lock(&allocator->lock);
    CHECK(record->held);
    if (hub_load_relaxed(&meta->state) == HUB_META_IN_FLIGHT) {
        hub_store_relaxed(&meta->state, HUB_META_FREE);
        give_held(allocator, record, meta, ref);
    } else {
        record->held = false;
        r = hub_slot_class_refuse_free(ref);
    }
    hub_mutex_unlock(&allocator->lock);
    return r;
}

int hub_slot_grants_free(struct hub_slot_allocator *allocator, uint32_t ref)
{
    const struct hub_slot_held slot =
        hub_slot_class_held_of(&allocator->map, ref, sizeof(struct hub_slot_allocator_record));

    return hub_slot_grants_give_back(allocator, &slot);
}

static void forget_deferred(struct hub_slot_allocator *allocator, uint32_t peer)
    REQUIRES(allocator->lock)
{
    uint32_t ref = allocator->deferred;

    allocator->deferred = HUB_SLOT_REF_NONE;
    while (ref != HUB_SLOT_REF_NONE) {
        struct hub_slot_allocator_record *record = hub_slot_allocator_record_of(allocator, ref);
        uint32_t next = record->next;

        if (record->peer != peer) {
            record->next = allocator->deferred;
            allocator->deferred = ref;
        }
        ref = next;
    }
}

static uint32_t reclaim_extent(struct hub_slot_allocator *allocator, struct hub_slot_ref at,
                               uint32_t peer) REQUIRES(allocator->lock)
{
    uint32_t count = 0;

    for (at.index = 0; at.index < allocator->map.of[at.size_class].per_extent; at.index++) {
        uint32_t ref = hub_slot_ref_pack(at);
        struct hub_slot_allocator_record *record = hub_slot_allocator_record_of(allocator, ref);
        uint32_t state = hub_observe(&record->state);

        if (record->peer != peer ||
            (state != HUB_SLOT_ALLOCATOR_SENT && state != HUB_SLOT_ALLOCATOR_GRANTED))
            continue;
        record->held = false;
        (void)hub_slot_allocator_take_back(allocator, ref);
        hub_store_relaxed(&hub_slot_class_meta(&allocator->map, ref)->generation,
                          ++record->generation);
        count++;
    }
    return count;
}

static void reset_block(struct hub_peer_class *block)
{
    uint32_t tag = hub_slot_ref_tag(hub_load_relaxed64(&block->free_head));

    hub_store_relaxed64(&block->free_head, hub_slot_ref_head(HUB_SLOT_REF_NONE, tag + 1));
    hub_store_relaxed(&block->wanted, 0);
    hub_store_relaxed(&block->granted, 0);
}

/* Slots that the dead peer returned itself are collected first. Violations found there are by
 * others and are ignored. r[impl shm.crash.recovery] */
uint32_t hub_slot_grants_reclaim(struct hub_slot_allocator *allocator, uint32_t peer)
{
    uint32_t count = 0;

    hub_mutex_lock(&allocator->lock);
    forget_deferred(allocator, peer);
    for (uint32_t c = 0; c < allocator->map.count; c++) {
        (void)hub_slot_allocator_gather(allocator, c);
        for (uint32_t e = 0;
             e < HUB_EXTENTS_MAX && allocator->map.extents[c * HUB_EXTENTS_MAX + e].records; e++)
            count += reclaim_extent(allocator, (struct hub_slot_ref){c, e, 0}, peer);
        allocator->of[c].goal[peer] = 0;
        reset_block(hub_slot_class_peer(&allocator->map, peer, c));
    }
    hub_mutex_unlock(&allocator->lock);
    return count;
}

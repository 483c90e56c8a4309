/* SPDX-License-Identifier: Apache-2.0 */
/* slot_allocator: a slot popped from a foreign stack is checked against its record, and the record
 * is changed, before the slot's link is followed. A circular list therefore meets a record that it
 * has already changed. */
#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/own.h"
#include "hub/shm/committed_slots.h"
#include "hub/shm/slot_allocator_state.h"

#define WARM_LEAST 4096 /* bytes; larger payloads are better copied into a warm slot */

static void to_reserve(struct hub_slot_allocator *allocator, uint32_t ref,
                       struct hub_slot_allocator_record *record) REQUIRES(allocator->lock)
{
    struct hub_slot_allocator_class *of = hub_slot_allocator_class_of(allocator, ref);
    struct hub_slot_meta *meta = hub_slot_class_meta(&allocator->map, ref);

    hub_store_relaxed(&record->state, HUB_SLOT_ALLOCATOR_RESERVE);
    hub_store_relaxed(&meta->state, HUB_META_FREE);
    hub_store_relaxed(&meta->owner_peer, 0);
    CHECK(of->in_reserve < of->total);
    of->reserve[of->in_reserve++] = ref;
}

/* Allocates the records of an extent, and space for it in the reserve. */
static int make_room(struct hub_slot_allocator *allocator, uint32_t c, uint32_t extent)
    REQUIRES(allocator->lock)
{
    struct hub_slot_allocator_class *of = &allocator->of[c];
    void **records = &allocator->map.extents[c * HUB_EXTENTS_MAX + extent].records;
    uint32_t count = allocator->map.of[c].per_extent;
    uint32_t *reserve = realloc(of->reserve, (of->total + (size_t)count) * sizeof *reserve);

    if (reserve) {
        of->reserve = reserve;
        *records = calloc(count, sizeof(struct hub_slot_allocator_record));
    }
    if (!reserve || !*records)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the records of %u slots", count);
    return 0;
}

static void stock(struct hub_slot_allocator *allocator, uint32_t c, uint32_t extent)
    REQUIRES(allocator->lock)
{
    uint32_t count = allocator->map.of[c].per_extent;

    allocator->of[c].total += count;
    hub_committed_slots_add(allocator, (struct hub_slot_ref){c, extent, 0}, count);
}

/* Makes sure that the class has a slot in reserve, by growing if necessary. No slot exists before
 * its record does. r[impl shm.varslot.extents] */
bool hub_slot_allocator_replenish(struct hub_slot_allocator *allocator, uint32_t c)
{
    struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t extent = allocator->map.of[c].extent_count;

    if (of->in_reserve > 0 || hub_committed_slots_more(allocator, c))
        return true;
    if (of->untaken > 0 || !hub_slot_growth_wants(&allocator->growth, &allocator->map, c) ||
        make_room(allocator, c, extent) < 0)
        return false;
    if (hub_slot_growth_add(&allocator->growth, &allocator->map, c) < 0) {
        hub_memory_release(&allocator->map.extents[c * HUB_EXTENTS_MAX + extent].records);
        return false;
    }
    stock(allocator, c, extent);
    return true;
}

int hub_slot_allocator_init(struct hub_slot_allocator *allocator,
                            const struct hub_geometry *geometry, uint8_t *segment, bool shared)
{
    int r = 0;

    *allocator = (struct hub_slot_allocator){
        .guests_max = geometry->limits.guests_max, .shared = shared, .deferred = HUB_SLOT_REF_NONE};
    hub_slot_class_init(&allocator->map, geometry, segment);
    allocator->of = calloc(HUB_CLASSES_MAX, sizeof *allocator->of);
    if (!allocator->of)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the classes of slots");
    hub_mutex_init(&allocator->lock, HUB_MUTEX_SLOT_ALLOCATOR);
    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = 0; c < allocator->map.count && r == 0; c++) {
        r = make_room(allocator, c, 0);
        if (r == 0)
            stock(allocator, c, 0);
    }
    hub_mutex_unlock(&allocator->lock);
    if (r < 0)
        hub_slot_allocator_fini(allocator);
    return r;
}

void hub_slot_allocator_fini(struct hub_slot_allocator *allocator)
{
    if (!allocator->of)
        return;
    for (uint32_t e = 0; e < HUB_SLOT_EXTENTS; e++)
        free(allocator->map.extents[e].records);
    for (uint32_t c = 0; c < HUB_CLASSES_MAX; c++)
        free(allocator->of[c].reserve);
    free(allocator->of);
    hub_slot_growth_fini(&allocator->growth);
    hub_slot_class_fini(&allocator->map);
    hub_mutex_fini(&allocator->lock);
    *allocator = (struct hub_slot_allocator){0};
}

int hub_slot_allocator_let_grow(struct hub_slot_allocator *allocator,
                                const struct hub_slot_growth_plan *plan)
{
    int r;

    hub_mutex_lock(&allocator->lock);
    hub_slot_growth_init(&allocator->growth, &allocator->map, plan);
    r = plan->file ? hub_committed_slots_open(allocator) : 0;
    hub_mutex_unlock(&allocator->lock);
    return r;
}

void hub_slot_allocator_set_bell(struct hub_slot_allocator *allocator, int bell)
{
    hub_mutex_lock(&allocator->lock);
    allocator->growth.bell = bell;
    hub_mutex_unlock(&allocator->lock);
}

void hub_slot_allocator_set_quota(struct hub_slot_allocator *allocator, bool quota)
{
    hub_mutex_lock(&allocator->lock);
    allocator->quota = quota;
    hub_mutex_unlock(&allocator->lock);
}

/* r[impl hub.slot.hold] */
void hub_slot_allocator_note_granted(struct hub_slot_allocator *allocator, uint32_t c,
                                     uint32_t peer)
{
    struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t share = hub_slot_class_share(&allocator->map, c, allocator->guests_max);
    uint32_t has = of->granted[peer];

    hub_store_relaxed(&hub_slot_class_peer(&allocator->map, peer, c)->granted, has);
    hub_store_relaxed(&of->may_hold[peer], (has < share ? has : share) / 2);
}

/* The slot was pushed for the host by a guest: the host had sent it, or had granted it. */
bool hub_slot_allocator_take_back(struct hub_slot_allocator *allocator, uint32_t ref)
{
    struct hub_slot_allocator_class *of = hub_slot_allocator_class_of(allocator, ref);
    struct hub_slot_allocator_record *record = hub_slot_allocator_record_of(allocator, ref);

    uint32_t state = hub_load_relaxed(&record->state);

    if (state == HUB_SLOT_ALLOCATOR_SENT) {
        of->lent[record->peer]--;
    } else if (state == HUB_SLOT_ALLOCATOR_GRANTED && !record->held) {
        of->granted_sum--;
        of->granted[record->peer]--;
        hub_slot_allocator_note_granted(allocator, ref >> 24, record->peer);
    } else {
        return false;
    }
    to_reserve(allocator, ref, record);
    return true;
}

/* Collects the slots that guests pushed for the host. After an impossible ref the rest is dropped;
 * those slots come back when the guest that has them dies. r[impl shm.varslot.freeing] */
__attribute__((flatten)) int hub_slot_allocator_gather(struct hub_slot_allocator *allocator,
                                                       uint32_t c)
{
    uint32_t ref = hub_slot_class_pop_all(&allocator->map.of[c].header->free_head);

    allocator->of[c].since = 0;
    while (ref != HUB_SLOT_REF_NONE) {
        bool there = hub_slot_class_has(&allocator->map, ref) && ref >> 24 == c;
        uint32_t next =
            there ? hub_load_relaxed(&hub_slot_class_meta(&allocator->map, ref)->next_free)
                  : HUB_SLOT_REF_NONE;

        if (!there || !hub_slot_allocator_take_back(allocator, ref)) {
            allocator->stray_refs++;
            if (allocator->shared)
                return 0;
            return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.freeing",
                                "the peer gave back slot %#x of size class %u, without having it",
                                ref, c);
        }
        ref = next;
    }
    return 0;
}

static bool may_have(const struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    const struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t ours = of->total - of->granted_sum, most = allocator->quota ? ours / 2 : ours;

    return of->lent[peer] < (most > 0 ? most : 1);
}

static bool may_loan(const struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    return allocator->of[c].in_reserve > 0 && may_have(allocator, c, peer);
}

/* The same, but may also commit slots that have no pages yet. */
static bool can_loan(struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer)
    REQUIRES(allocator->lock)
{
    return may_have(allocator, c, peer) &&
           (allocator->of[c].in_reserve > 0 || hub_committed_slots_more(allocator, c));
}

/* The generation is published with the descriptor, by the ring's head. */
static void loan_top(struct hub_slot_allocator *allocator, uint32_t c, uint32_t peer,
                     struct hub_slot_loan *out) REQUIRES(allocator->lock)
{
    struct hub_slot_allocator_class *of = &allocator->of[c];
    uint32_t ref = of->reserve[--of->in_reserve];
    struct hub_slot_allocator_record *record = hub_slot_allocator_record_of(allocator, ref);

    hub_store_relaxed(&record->state, HUB_SLOT_ALLOCATOR_LOANED);
    record->peer = (uint8_t)peer;
    of->lent[peer]++;
    of->since++;
    *out = hub_slot_class_loan(&allocator->map, ref, ++record->generation, &record->state);
    hub_store_relaxed(&out->meta->generation, out->generation);
    hub_store_relaxed(&out->meta->state, HUB_META_ALLOCATED);
}

/* For a large copy, recently returned slots are collected first: they are warm in the cache, while
 * cycling through the whole reserve would load each of its slots in turn. A small number of slots
 * cycles nevertheless, so that the line with their stack is not fetched from the guest for each of
 * them. */
static bool is_due(const struct hub_slot_allocator *allocator, uint32_t c, size_t size)
    REQUIRES(allocator->lock)
{
    return size >= WARM_LEAST && allocator->of[c].since >= HUB_SLOT_ROUND;
}

/* Finds the smallest class that has a slot, from *found on, the first that fits. Returns 0,
 * -EAGAIN, or a violation found while collecting. */
static __attribute__((noinline)) int find(struct hub_slot_allocator *allocator, uint32_t peer,
                                          size_t size, uint32_t *found) REQUIRES(allocator->lock)
{
    uint32_t first = *found;

    for (uint32_t c = first; c < allocator->map.count; c++) {
        int r;

        *found = c;
        if (!is_due(allocator, c, size) && may_loan(allocator, c, peer))
            return 0;
        r = hub_slot_allocator_gather(allocator, c);
        if (r < 0)
            return r;
        if (can_loan(allocator, c, peer))
            return 0;
    }
    *found = first;
    if (first < allocator->map.count && hub_slot_allocator_replenish(allocator, first) &&
        may_loan(allocator, first, peer))
        return 0;
    return -EAGAIN;
}

/* `copied` is the number of bytes that will be copied into a warm slot. */
static inline __attribute__((always_inline)) int loan_for(struct hub_slot_allocator *allocator,
                                                          uint32_t peer, size_t size, size_t copied,
                                                          struct hub_slot_loan *out)
{
    uint32_t found;
    int r;

    CHECK(peer >= 1 && peer <= allocator->guests_max);
    hub_mutex_lock(&allocator->lock);
    found = hub_slot_class_select_near(&allocator->map, size, &allocator->near);
    r = found < allocator->map.count && !is_due(allocator, found, copied) &&
                may_loan(allocator, found, peer)
            ? 0
            : find(allocator, peer, copied, &found);
    if (r == 0)
        loan_top(allocator, found, peer, out);
    hub_mutex_unlock(&allocator->lock);
    return r;
}

/* r[impl shm.varslot.selection] r[impl hub.slot.quota] */
int hub_slot_allocator_loan(struct hub_slot_allocator *allocator, uint32_t peer, size_t size,
                            struct hub_slot_loan *out)
{
    return loan_for(allocator, peer, size, size, out);
}

int hub_slot_allocator_loan_cold(struct hub_slot_allocator *allocator, uint32_t peer, size_t size,
                                 struct hub_slot_loan *out)
{
    return loan_for(allocator, peer, size, 0, out);
}

/* A pushed slot may be the one that helps; only collecting it shows. */
bool hub_slot_allocator_ready(struct hub_slot_allocator *allocator, uint32_t peer, size_t size)
{
    bool ready = false;

    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = hub_slot_class_select(&allocator->map, size);
         c < allocator->map.count && !ready; c++)
        ready = may_loan(allocator, c, peer) ||
                (may_have(allocator, c, peer) && hub_committed_slots_may(allocator, c)) ||
                hub_slot_ref_first(hub_load_relaxed64(&allocator->map.of[c].header->free_head)) !=
                    HUB_SLOT_REF_NONE;
    hub_mutex_unlock(&allocator->lock);
    return ready;
}

void hub_slot_allocator_drop(struct hub_slot_allocator *allocator, uint32_t ref)
{
    hub_mutex_lock(&allocator->lock);
    CHECK(hub_slot_class_has(&allocator->map, ref) &&
          hub_load_relaxed(&hub_slot_allocator_record_of(allocator, ref)->state) ==
              HUB_SLOT_ALLOCATOR_LOANED);
    hub_slot_allocator_class_of(allocator, ref)
        ->lent[hub_slot_allocator_record_of(allocator, ref)->peer]--;
    to_reserve(allocator, ref, hub_slot_allocator_record_of(allocator, ref));
    hub_mutex_unlock(&allocator->lock);
}

/* r[impl shm.varslot.ownership] r[impl hub.slot.twice] */
static int check_record(const struct hub_slot_allocator_record *record, uint32_t peer,
                        const struct hub_descriptor *descriptor)
{
    if (hub_load_relaxed(&record->state) != HUB_SLOT_ALLOCATOR_GRANTED || record->peer != peer)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.ownership",
                            "slot %#x is not the guest's own", descriptor->payload_slot);
    if (record->held || (record->accepted && record->seen == descriptor->payload_generation))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "hub.slot.twice",
                            "slot %#x came twice with generation %u", descriptor->payload_slot,
                            descriptor->payload_generation);
    return 0;
}

static int hold(const struct hub_slot_held *slot, uint32_t peer,
                const struct hub_descriptor *descriptor)
{
    struct hub_slot_allocator_record *record = slot->record;
    int r = check_record(record, peer, descriptor);

    if (r == 0)
        r = hub_slot_class_check_generation(slot->meta, descriptor, "before its payload");
    if (r < 0)
        return r;
    record->seen = descriptor->payload_generation;
    record->accepted = record->held = true;
    return 0;
}

int hub_slot_allocator_show(struct hub_slot_allocator *allocator, uint32_t peer,
                            const struct hub_descriptor *descriptor, struct hub_slot_held *out,
                            const uint8_t **data)
{
    int r = hub_slot_class_find(hub_slot_class_extent(&allocator->map, descriptor->payload_slot),
                                descriptor, sizeof(struct hub_slot_allocator_record), out, data);

    if (r < 0)
        return r;
    hub_mutex_lock(&allocator->lock);
    r = hold(out, peer, descriptor);
    hub_mutex_unlock(&allocator->lock);
    return r;
}

int hub_slot_allocator_accept(struct hub_slot_allocator *allocator, uint32_t peer,
                              const struct hub_descriptor *descriptor, void *to)
{
    struct hub_slot_held slot;
    const uint8_t *data;
    int r = hub_slot_allocator_show(allocator, peer, descriptor, &slot, &data);

    return r < 0 || !to ? r : hub_slot_class_copy(&allocator->map, descriptor, to);
}

void hub_slot_allocator_count(struct hub_slot_allocator *allocator, struct hub_slot_counts *out)
{
    *out = (struct hub_slot_counts){0};
    hub_mutex_lock(&allocator->lock);
    for (uint32_t c = 0; c < allocator->map.count; c++) {
        (void)hub_slot_allocator_gather(allocator, c);
        out->total += allocator->of[c].total;
        out->free += allocator->of[c].in_reserve + allocator->of[c].untaken;
        out->granted += allocator->of[c].granted_sum;
    }
    out->stray = allocator->stray_refs;
    hub_mutex_unlock(&allocator->lock);
}

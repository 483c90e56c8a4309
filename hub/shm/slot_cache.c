/* SPDX-License-Identifier: Apache-2.0 */
/* slot_cache: only one thread at a time pops our stacks, the one with the lock of the slot
 * cache. */
#include "hub/shm/slot_cache.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/memory.h"

#define PATIENCE (1100 * HUB_MILLISECOND) /* the host tries again after a second */
#define FORGET   (3 * HUB_SECOND)

#define COLD_BYTES \
    (UINT64_C(2) << 20) /* bytes of one class that cycle: more than a CPU's own cache */

/* `ref` must be mapped. */
static inline struct hub_slot_cache_record *record_of(const struct hub_slot_cache *cache,
                                                      uint32_t ref) REQUIRES(cache->lock)
{
    struct hub_slot_cache_record *records = cache->map.extents[hub_slot_ref_extent(ref)].records;

    return &records[hub_slot_ref_index(ref)];
}

static int make_records(struct hub_slot_cache *cache, struct hub_extent_name name)
    REQUIRES(cache->lock)
{
    void **records = &cache->map.extents[name.size_class * HUB_EXTENTS_MAX + name.extent].records;
    uint32_t count = cache->map.of[name.size_class].per_extent;

    if (!*records)
        *records = hub_memory_sparse(count * sizeof(struct hub_slot_cache_record));
    if (!*records)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the records of %u slots", count);
    return 0;
}

static int add_class(struct hub_slot_cache *cache, uint32_t c, uint32_t guests_max)
    REQUIRES(cache->lock)
{
    struct hub_slot_cache_class *of = &cache->of[c];

    of->block = hub_slot_class_peer(&cache->map, cache->peer, c);
    of->kept = HUB_SLOT_REF_NONE;
    of->share = hub_slot_class_share(&cache->map, c, guests_max);
    return make_records(cache, (struct hub_extent_name){c, 0});
}

int hub_slot_cache_init(struct hub_slot_cache *cache, const struct hub_geometry *geometry,
                        const struct hub_mapping *segment, uint32_t peer)
{
    int r = 0;

    *cache = (struct hub_slot_cache){.peer = peer,
                                     .guests_max = geometry->limits.guests_max,
                                     .deferred = HUB_SLOT_REF_NONE,
                                     .file = segment->fd};
    cache->of = calloc(HUB_CLASSES_MAX, sizeof *cache->of);
    if (!cache->of)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the classes of slots");
    hub_slot_class_init(&cache->map, geometry, segment->data);
    hub_slot_arrivals_init(&cache->arrivals);
    hub_mutex_init(&cache->lock, HUB_MUTEX_SLOT_CACHE);
    hub_mutex_lock(&cache->lock);
    for (uint32_t c = 0; c < cache->map.count && r == 0; c++)
        r = add_class(cache, c, geometry->limits.guests_max);
    hub_mutex_unlock(&cache->lock);
    if (r < 0)
        hub_slot_cache_fini(cache);
    return r;
}

void hub_slot_cache_fini(struct hub_slot_cache *cache)
{
    if (!cache->of)
        return;
    for (uint32_t c = 0; c < HUB_CLASSES_MAX; c++)
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX; e++)
            hub_memory_free_sparse(cache->map.extents[c * HUB_EXTENTS_MAX + e].records,
                                   cache->map.of[c].per_extent *
                                       sizeof(struct hub_slot_cache_record));
    free(cache->of);
    hub_slot_arrivals_fini(&cache->arrivals);
    hub_slot_class_fini(&cache->map);
    hub_mutex_fini(&cache->lock);
    *cache = (struct hub_slot_cache){0};
}

void hub_slot_cache_listen(struct hub_slot_cache *cache, void (*hear)(void *user), void *user)
{
    hub_mutex_lock(&cache->lock);
    cache->hear = hear;
    cache->user = user;
    hub_mutex_unlock(&cache->lock);
}

static int map_extent(struct hub_slot_cache *cache, struct hub_extent_name name)
    REQUIRES(cache->lock)
{
    int r = make_records(cache, name);

    if (r < 0)
        return r;
    r = hub_slot_arrivals_map(&cache->arrivals, &cache->map, name, cache->file);
    if (r == -ENOENT && cache->hear) {
        cache->hear(cache->user);
        r = hub_slot_arrivals_map(&cache->arrivals, &cache->map, name, cache->file);
    }
    if (r == -ENOENT)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.extents",
                            "extent %u of size class %u is used, and nobody sent it", name.extent,
                            name.size_class);
    return r;
}

/* An extent is mapped when one of its slots is met. A ref that no extent can have is left to the
 * later checks. r[impl shm.varslot.extents] */
static __attribute__((noinline)) int reach(struct hub_slot_cache *cache, uint32_t ref)
    REQUIRES(cache->lock)
{
    struct hub_slot_ref at = hub_slot_ref_unpack(ref);

    if (hub_slot_class_has(&cache->map, ref) || at.size_class >= cache->map.count ||
        at.index >= cache->map.of[at.size_class].per_extent)
        return 0;
    return map_extent(cache, (struct hub_extent_name){at.size_class, at.extent});
}

static void keep(struct hub_slot_cache *cache, uint32_t ref) REQUIRES(cache->lock)
{
    struct hub_slot_cache_class *of = &cache->of[ref >> 24];
    struct hub_slot_cache_record *record = record_of(cache, ref);

    hub_store_relaxed(&record->state, HUB_SLOT_CACHE_KEPT);
    record->next = of->kept;
    of->kept = ref;
}

/* A slot that is kept, written or read here cannot be in our stack. */
static int keep_popped(struct hub_slot_cache *cache, uint32_t ref) REQUIRES(cache->lock)
{
    const struct hub_slot_cache_record *record = record_of(cache, ref);
    uint32_t state = hub_load_relaxed(&record->state);

    if (state == HUB_SLOT_CACHE_LOANED || state == HUB_SLOT_CACHE_KEPT || record->held)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.freelist",
                            "slot %#x was among the free ones while it was in use", ref);
    keep(cache, ref);
    return 0;
}

/* Pops a few slots into the cache. */
static __attribute__((noinline)) int pop(struct hub_slot_cache *cache, uint32_t c)
    REQUIRES(cache->lock)
{
    struct hub_peer_class *block = cache->of[c].block;
    uint32_t refs[HUB_SLOT_ROUND];
    int r, count;

    do
        r = hub_slot_class_pop(&cache->map, &block->free_head, c, refs);
    while (r == -ENXIO && (r = reach(cache, refs[0])) == 0);
    for (count = r, r = r < 0 ? r : 0; count > 0 && r == 0; count--)
        r = keep_popped(cache, refs[count - 1]);
    return r;
}

static int take(struct hub_slot_cache *cache, uint32_t c, uint32_t *ref) REQUIRES(cache->lock)
{
    struct hub_slot_cache_class *of = &cache->of[c];
    int r = of->kept == HUB_SLOT_REF_NONE ? pop(cache, c) : 0;

    if (r < 0)
        return r;
    *ref = of->kept;
    of->kept = record_of(cache, *ref)->next;
    return 0;
}

/* The first time that a slot is ours, its generation continues from the value in the slot. It is
 * published with the descriptor, by the ring's head. */
static void loan(struct hub_slot_cache *cache, uint32_t ref, struct hub_slot_loan *out)
    REQUIRES(cache->lock)
{
    struct hub_slot_cache_record *record = record_of(cache, ref);

    if (!record->used)
        record->generation = hub_load_relaxed(&hub_slot_class_meta(&cache->map, ref)->generation);
    record->used = true;
    hub_store_relaxed(&record->state, HUB_SLOT_CACHE_LOANED);
    *out = hub_slot_class_loan(&cache->map, ref, ++record->generation, &record->state);
    hub_store_relaxed(&out->meta->generation, out->generation);
    hub_store_relaxed(&out->meta->state, HUB_META_ALLOCATED);
}

bool hub_slot_cache_bare(const struct hub_slot_cache *cache, size_t size)
{
    for (uint32_t c = hub_slot_class_select(&cache->map, size); c < cache->map.count; c++)
        if (hub_load_relaxed(&hub_slot_class_peer(&cache->map, cache->peer, c)->granted) != 0)
            return false;
    return true;
}

/* Asks the host for slots, and evaluates the previous request: if the host has seen it for long
 * enough and granted none, it has no space for one. A host that has not looked is waited for. After
 * that result the next call asks again before the result can be repeated.
 * r[impl hub.var.single-popper] */
static __attribute__((noinline)) int ask(struct hub_slot_cache *cache, uint32_t c, size_t size)
    REQUIRES(cache->lock)
{
    struct hub_slot_cache_class *of = &cache->of[c];
    bool heard = of->asked && hub_observe(&of->block->wanted) == 0;

    hub_publish(&of->block->wanted, 1);
    if (!hub_slot_cache_bare(cache, size) || hub_clock_left(of->forget_ns) == 0) {
        of->vain_ns = 0;
        heard = false;
    }
    of->forget_ns = hub_clock_after(FORGET);
    if (heard && of->vain_ns == 0)
        of->vain_ns = hub_clock_after(PATIENCE);
    of->asked = !heard || hub_clock_left(of->vain_ns) > 0;
    return of->asked ? -EAGAIN
                     : rapahub_fail(RAPAHUB_ENOSPC, "hub.file.room",
                                    "the hub has no room for a payload of %zu bytes", size);
}

static inline __attribute__((always_inline)) int loan_for(struct hub_slot_cache *cache, size_t size,
                                                          struct hub_slot_loan *out)
    REQUIRES(cache->lock)
{
    uint32_t first = hub_slot_class_select_near(&cache->map, size, &cache->near), ref;
    int r = -EAGAIN;

    for (uint32_t c = first; c < cache->map.count && r == -EAGAIN; c++)
        r = take(cache, c, &ref);
    if (r == 0)
        loan(cache, ref, out);
    else if (r == -EAGAIN && first < cache->map.count)
        r = ask(cache, first, size);
    return r;
}

/* Later rounds are put in front, because their slots were returned earlier. While all slots that
 * cycle fit into the cache of one CPU, the host is asked for more. */
static int pop_all(struct hub_slot_cache *cache, uint32_t c) REQUIRES(cache->lock)
{
    const struct hub_slot_cache_class *of = &cache->of[c];
    uint32_t rounds = cache->map.of[c].per_extent / HUB_SLOT_ROUND + 1;
    int r = 0;

    if ((uint64_t)hub_load_relaxed(&of->block->granted) * cache->map.of[c].slot_size < COLD_BYTES)
        hub_publish(&of->block->wanted, 1);
    while (r == 0 && rounds-- > 0)
        r = pop(cache, c);
    return r == -EAGAIN ? 0 : r;
}

/* r[impl shm.varslot.selection] r[impl shm.varslot.allocation] */
int hub_slot_cache_loan(struct hub_slot_cache *cache, size_t size, struct hub_slot_loan *out)
{
    int r;

    hub_mutex_lock(&cache->lock);
    r = loan_for(cache, size, out);
    hub_mutex_unlock(&cache->lock);
    return r;
}

int hub_slot_cache_loan_cold(struct hub_slot_cache *cache, size_t size, struct hub_slot_loan *out)
{
    uint32_t c;
    int r = 0;

    hub_mutex_lock(&cache->lock);
    c = hub_slot_class_select(&cache->map, size);
    if (c < cache->map.count && cache->of[c].kept == HUB_SLOT_REF_NONE)
        r = pop_all(cache, c);
    if (r == 0)
        r = loan_for(cache, size, out);
    hub_mutex_unlock(&cache->lock);
    return r;
}

bool hub_slot_cache_ready(struct hub_slot_cache *cache, size_t size)
{
    bool ready = false;

    hub_mutex_lock(&cache->lock);
    for (uint32_t c = hub_slot_class_select(&cache->map, size); c < cache->map.count && !ready;
         c++) {
        const struct hub_peer_class *block = hub_slot_class_peer(&cache->map, cache->peer, c);

        ready = cache->of[c].kept != HUB_SLOT_REF_NONE ||
                hub_slot_ref_first(hub_load_relaxed64(&block->free_head)) != HUB_SLOT_REF_NONE;
    }
    hub_mutex_unlock(&cache->lock);
    return ready;
}

void hub_slot_cache_drop(struct hub_slot_cache *cache, uint32_t ref)
{
    hub_mutex_lock(&cache->lock);
    CHECK(hub_slot_class_has(&cache->map, ref) &&
          hub_load_relaxed(&record_of(cache, ref)->state) == HUB_SLOT_CACHE_LOANED);
    hub_store_relaxed(&hub_slot_class_meta(&cache->map, ref)->state, HUB_META_FREE);
    keep(cache, ref);
    hub_mutex_unlock(&cache->lock);
}

/* r[impl shm.varslot.ownership] r[impl hub.slot.twice] */
static int check_record(const struct hub_slot_cache_record *record,
                        const struct hub_descriptor *descriptor)
{
    if (hub_load_relaxed(&record->state) != HUB_SLOT_CACHE_AWAY)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.ownership",
                            "slot %#x is not the host's own", descriptor->payload_slot);
    if (record->held || (record->accepted && record->seen == descriptor->payload_generation))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "hub.slot.twice",
                            "slot %#x came twice with generation %u", descriptor->payload_slot,
                            descriptor->payload_generation);
    return 0;
}

static int hold(const struct hub_slot_held *slot, const struct hub_descriptor *descriptor)
{
    struct hub_slot_cache_record *record = slot->record;
    int r = check_record(record, descriptor);

    if (r == 0)
        r = hub_slot_class_check_generation(slot->meta, descriptor, "before its payload");
    if (r < 0)
        return r;
    record->seen = descriptor->payload_generation;
    record->accepted = record->held = true;
    return 0;
}

int hub_slot_cache_show(struct hub_slot_cache *cache, const struct hub_descriptor *descriptor,
                        struct hub_slot_held *out, const uint8_t **data)
{
    const struct hub_slot_extent *extent;
    int r = 0;

    hub_mutex_lock(&cache->lock);
    extent = hub_slot_class_extent(&cache->map, descriptor->payload_slot);
    if (!extent) {
        r = reach(cache, descriptor->payload_slot);
        extent = hub_slot_class_extent(&cache->map, descriptor->payload_slot);
    }
    if (r == 0)
        r = hub_slot_class_find(extent, descriptor, sizeof(struct hub_slot_cache_record), out,
                                data);
    if (r == 0)
        r = hold(out, descriptor);
    hub_mutex_unlock(&cache->lock);
    return r;
}

int hub_slot_cache_accept(struct hub_slot_cache *cache, const struct hub_descriptor *descriptor,
                          void *to)
{
    struct hub_slot_held slot;
    const uint8_t *data;
    int r = hub_slot_cache_show(cache, descriptor, &slot, &data);

    return r < 0 || !to ? r : hub_slot_class_copy(&cache->map, descriptor, to);
}

/* A failed push is retried at the next one and before a long sleep. Until then the slot stays held,
 * as in slot_grants. r[impl hub.slot.twice] */
static void give_held(struct hub_slot_cache *cache, struct hub_slot_cache_record *record,
                      struct hub_slot_meta *meta, uint32_t ref) REQUIRES(cache->lock)
{
    record->held = !hub_slot_class_push(meta, &cache->map.of[ref >> 24].header->free_head, ref);
    if (!record->held)
        return;
    record->next = cache->deferred;
    cache->deferred = ref;
}

static void give(struct hub_slot_cache *cache, uint32_t ref) REQUIRES(cache->lock)
{
    give_held(cache, record_of(cache, ref), hub_slot_class_meta(&cache->map, ref), ref);
}

static __attribute__((noinline)) void give_deferred(struct hub_slot_cache *cache)
    REQUIRES(cache->lock)
{
    uint32_t ref = cache->deferred;

    cache->deferred = HUB_SLOT_REF_NONE;
    while (ref != HUB_SLOT_REF_NONE) {
        uint32_t next = record_of(cache, ref)->next;

        give(cache, ref);
        ref = next;
    }
}

/* r[impl shm.varslot.freeing] */
int hub_slot_cache_give_back(struct hub_slot_cache *cache, const struct hub_slot_held *slot)
{
    struct hub_slot_cache_record *record = slot->record;
    struct hub_slot_meta *meta = slot->meta;
    uint32_t ref = slot->slot;
    int r = 0;

    hub_mutex_lock(&cache->lock);
    CHECK(record->held);
    if (cache->deferred != HUB_SLOT_REF_NONE)
        give_deferred(cache);
    if (hub_load_relaxed(&meta->state) == HUB_META_IN_FLIGHT) {
        hub_store_relaxed(&record->state, HUB_SLOT_CACHE_AWAY);
        record->used = false;
        hub_store_relaxed(&meta->state, HUB_META_FREE);
        give_held(cache, record, meta, ref);
    } else {
        record->held = false;
        r = hub_slot_class_refuse_free(ref);
    }
    hub_mutex_unlock(&cache->lock);
    return r;
}

int hub_slot_cache_free(struct hub_slot_cache *cache, uint32_t ref)
{
    const struct hub_slot_held slot =
        hub_slot_class_held_of(&cache->map, ref, sizeof(struct hub_slot_cache_record));

    return hub_slot_cache_give_back(cache, &slot);
}

/* Returned slots count in `granted` until the host notices. Until then they must not be returned
 * twice. */
static uint32_t surplus(struct hub_slot_cache *cache, uint32_t c) REQUIRES(cache->lock)
{
    struct hub_slot_cache_class *of = &cache->of[c];
    uint32_t granted = hub_load_relaxed(&hub_slot_class_peer(&cache->map, cache->peer, c)->granted);
    uint32_t most = cache->map.of[c].per_extent * HUB_EXTENTS_MAX, seen = 0;

    if (granted > most)
        return 0;
    if (granted < of->granted)
        seen = of->granted - granted;
    of->returned -= seen < of->returned ? seen : of->returned;
    of->granted = granted;
    return granted > of->share + of->returned ? granted - of->share - of->returned : 0;
}

void hub_slot_cache_rest(struct hub_slot_cache *cache)
{
    hub_mutex_lock(&cache->lock);
    give_deferred(cache);
    for (uint32_t c = 0; c < cache->map.count; c++) {
        uint32_t ref;

        for (uint32_t left = surplus(cache, c); left > 0 && take(cache, c, &ref) == 0; left--) {
            hub_store_relaxed(&record_of(cache, ref)->state, HUB_SLOT_CACHE_AWAY);
            record_of(cache, ref)->used = false;
            give(cache, ref);
            cache->of[c].returned++;
        }
    }
    hub_mutex_unlock(&cache->lock);
}

/* The stack is read as it stands; slots that the host pushes meanwhile may or may not count. */
static uint32_t count_stack(const struct hub_slot_cache *cache, uint32_t c)
{
    const struct hub_peer_class *block = hub_slot_class_peer(&cache->map, cache->peer, c);
    uint32_t ref = hub_slot_ref_first(hub_observe64(&block->free_head)), count = 0;

    while (count < cache->map.of[c].per_extent * HUB_EXTENTS_MAX &&
           hub_slot_class_has(&cache->map, ref)) {
        ref = hub_load_relaxed(&hub_slot_class_meta(&cache->map, ref)->next_free);
        count++;
    }
    return count;
}

uint32_t hub_slot_cache_free_count(struct hub_slot_cache *cache)
{
    uint32_t count = 0;

    hub_mutex_lock(&cache->lock);
    for (uint32_t c = 0; c < cache->map.count; c++) {
        count += count_stack(cache, c);
        for (uint32_t ref = cache->of[c].kept; ref != HUB_SLOT_REF_NONE;
             ref = record_of(cache, ref)->next)
            count++;
    }
    hub_mutex_unlock(&cache->lock);
    return count;
}

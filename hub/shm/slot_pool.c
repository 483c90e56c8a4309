/* SPDX-License-Identifier: Apache-2.0 */
/* slot_pool: the private records decide. A bit in the segment is only a claim, checked against them
 * when it is harvested. A word of the bitmap is read and cleared by one exchange, so each bit is
 * seen once. */
#include "hub/shm/slot_pool.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/base/check.h"

#define WORD_BITS       64
#define GENERATION_SIZE 4

static uint64_t bit_of(uint32_t slot)
{
    return UINT64_C(1) << slot % WORD_BITS;
}

static uint32_t words_of(uint32_t count)
{
    return (count + WORD_BITS - 1) / WORD_BITS;
}

/* Returns the bits of word `word` that stand for a slot. */
static uint64_t valid_bits(uint32_t count, uint32_t word)
{
    uint32_t left = count - word * WORD_BITS;

    return left >= WORD_BITS ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

/* Removes the lowest set bit from `*bits` and returns its slot in word `word`. */
static uint32_t next_slot(uint64_t *bits, uint32_t word)
{
    uint32_t slot = word * WORD_BITS + (uint32_t)__builtin_ctzll(*bits);

    *bits &= *bits - 1;
    return slot;
}

static struct hub_a32 *generation_word(uint8_t *slots, uint32_t slot_size, uint32_t slot)
{
    return (struct hub_a32 *)(void *)(slots + (size_t)slot * slot_size);
}

static struct hub_a32 *generation_of(const struct hub_slot_pool *pool, uint32_t slot)
{
    return generation_word(pool->slots, pool->slot_size, slot);
}

static void read_records(struct hub_slot_pool *pool)
{
    for (uint32_t slot = 0; slot < pool->count; slot++)
        pool->records[slot] = (struct hub_slot_record){
            .generation = hub_load_relaxed(generation_of(pool, slot)), .state = HUB_SLOT_FREE};
    for (uint32_t word = 0; word < words_of(pool->count); word++)
        pool->free[word] = valid_bits(pool->count, word);
}

int hub_slot_pool_init(struct hub_slot_pool *pool, const struct hub_geometry *geometry,
                       uint8_t *memory, bool shared)
{
    uint32_t count = geometry->limits.slot_count;
    struct hub_slot_record *records = calloc(count, sizeof(*records));
    uint64_t *bits = calloc((size_t)words_of(count) * 2, sizeof(*bits));

    if (!records || !bits) {
        free(records);
        free(bits);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the records of %u slots", count);
    }
    *pool = (struct hub_slot_pool){
        .bitmap = (struct hub_a64 *)(void *)memory,
        .slots = memory + geometry->bitmap_size,
        .slot_size = geometry->limits.slot_size,
        .count = count,
        .shared = shared,
        .peer_max = count,
        .records = records,
        .cache = bits,
        .free = bits + words_of(count),
    };
    hub_mutex_init(&pool->lock, HUB_MUTEX_SLOT_POOL);
    read_records(pool);
    return 0;
}

void hub_slot_pool_fini(struct hub_slot_pool *pool)
{
    if (!pool->records)
        return;
    free(pool->records);
    free(pool->cache); /* and pool->free, which follows it */
    hub_mutex_fini(&pool->lock);
    *pool = (struct hub_slot_pool){0};
}

/* r[impl hub.slot.quota] */
void hub_slot_pool_set_quota(struct hub_slot_pool *pool, uint32_t peer_max)
{
    hub_mutex_lock(&pool->lock);
    pool->peer_max = peer_max ? peer_max : 1;
    hub_mutex_unlock(&pool->lock);
}

static void put_in_cache(struct hub_slot_pool *pool, uint32_t slot) REQUIRES(pool->lock)
{
    uint32_t word = slot / WORD_BITS;

    pool->records[slot].state = HUB_SLOT_CACHED;
    pool->free[word] &= ~bit_of(slot);
    pool->cache[word] |= bit_of(slot);
    pool->cached++;
    if (word < pool->lowest)
        pool->lowest = word;
}

static uint32_t take_from_cache(struct hub_slot_pool *pool) REQUIRES(pool->lock)
{
    uint32_t slot;

    while (pool->cache[pool->lowest] == 0)
        pool->lowest++;
    slot = next_slot(&pool->cache[pool->lowest], pool->lowest);
    pool->cached--;
    return slot;
}

static void end_loan(struct hub_slot_pool *pool, uint32_t slot) REQUIRES(pool->lock)
{
    pool->lent[pool->records[slot].peer]--;
    put_in_cache(pool, slot);
}

/* A claim that the records contradict. In a shared group no peer can be blamed for it.
 * r[impl hub.slot.claim] */
static int deny(struct hub_slot_pool *pool, const char *rule, uint32_t slot, const char *what)
    REQUIRES(pool->lock)
{
    pool->stray_bits++;
    if (pool->shared)
        return 0;
    return rapahub_fail(RAPAHUB_EPROTOCOL, rule, "the peer %s slot %u of %u", what, slot,
                        pool->count);
}

static int harvest_bit(struct hub_slot_pool *pool, uint32_t slot) REQUIRES(pool->lock)
{
    if (slot >= pool->count)
        return deny(pool, "shm.slot.pool-layout", slot, "gave back");
    switch (pool->records[slot].state) {
    case HUB_SLOT_FREE:
        put_in_cache(pool, slot);
        return 0;
    case HUB_SLOT_SENT:
        end_loan(pool, slot);
        return 0;
    default:
        return deny(pool, "shm.slot.free", slot, "gave back, without having it,");
    }
}

/* Every bit removed from the segment is accounted for, even after one was denied. */
static int harvest_word(struct hub_slot_pool *pool, uint32_t word) REQUIRES(pool->lock)
{
    uint64_t bits =
        hub_load_relaxed64(&pool->bitmap[word]) ? hub_exchange64(&pool->bitmap[word], 0) : 0;
    uint64_t gone = pool->free[word] & ~bits;
    int verdict = 0;

    while (bits) {
        int r = harvest_bit(pool, next_slot(&bits, word));

        verdict = verdict ? verdict : r;
    }
    while (gone) {
        uint32_t slot = next_slot(&gone, word);
        int r = deny(pool, "shm.slot.pool-layout", slot, "cleared the bit of free");

        put_in_cache(pool, slot);
        verdict = verdict ? verdict : r;
    }
    return verdict;
}

/* r[impl hub.slot.cache] */
static int harvest(struct hub_slot_pool *pool) REQUIRES(pool->lock)
{
    int verdict = 0;

    for (uint32_t word = 0; word < words_of(pool->count); word++) {
        int r = harvest_word(pool, word);

        verdict = verdict ? verdict : r;
    }
    return verdict;
}

static bool may_loan(const struct hub_slot_pool *pool, uint32_t peer) REQUIRES(pool->lock)
{
    return pool->cached > 0 && pool->lent[peer] < pool->peer_max;
}

/* The generation is published with the descriptor, by the ring's head. */
static void loan_lowest(struct hub_slot_pool *pool, uint32_t peer, uint32_t *slot,
                        uint32_t *generation) REQUIRES(pool->lock)
{
    uint32_t taken = take_from_cache(pool);
    struct hub_slot_record *record = &pool->records[taken];

    record->state = HUB_SLOT_LOANED;
    record->peer = (uint8_t)peer;
    record->generation++;
    pool->lent[peer]++;
    hub_store_relaxed(generation_of(pool, taken), record->generation);
    *slot = taken;
    *generation = record->generation;
}

/* r[impl shm.slot.exhaustion] */
int hub_slot_pool_loan(struct hub_slot_pool *pool, uint32_t peer, uint32_t *slot,
                       uint32_t *generation)
{
    int r = 0;

    CHECK(peer <= HUB_GUESTS_MAX);
    hub_mutex_lock(&pool->lock);
    if (!may_loan(pool, peer))
        r = harvest(pool);
    if (r == 0 && !may_loan(pool, peer))
        r = RAPAHUB_EAGAIN;
    if (r == 0)
        loan_lowest(pool, peer, slot, generation);
    hub_mutex_unlock(&pool->lock);
    return r;
}

/* Says whether harvesting the word would help `peer`. If the peer is `full`, it may have no more
 * slots, and only its own returned ones help. */
static bool word_promises(const struct hub_slot_pool *pool, uint32_t word, uint32_t peer, bool full)
    REQUIRES(pool->lock)
{
    uint64_t bits = hub_load_relaxed64(&pool->bitmap[word]);

    if (pool->free[word] && !full)
        return true;
    if (!pool->shared && (bits & ~valid_bits(pool->count, word)))
        return true;
    bits &= valid_bits(pool->count, word);
    while (bits) {
        const struct hub_slot_record *record = &pool->records[next_slot(&bits, word)];

        if (record->state == HUB_SLOT_SENT && (!full || record->peer == peer))
            return true;
        if (record->state != HUB_SLOT_SENT && record->state != HUB_SLOT_FREE && !pool->shared)
            return true;
    }
    return false;
}

bool hub_slot_pool_ready(struct hub_slot_pool *pool, uint32_t peer)
{
    bool ready, full;

    CHECK(peer <= HUB_GUESTS_MAX);
    hub_mutex_lock(&pool->lock);
    full = pool->lent[peer] >= pool->peer_max;
    ready = may_loan(pool, peer);
    for (uint32_t word = 0; !ready && word < words_of(pool->count); word++)
        ready = word_promises(pool, word, peer, full);
    hub_mutex_unlock(&pool->lock);
    return ready;
}

void hub_slot_pool_sent(struct hub_slot_pool *pool, uint32_t slot)
{
    hub_mutex_lock(&pool->lock);
    CHECK(slot < pool->count && pool->records[slot].state == HUB_SLOT_LOANED);
    pool->records[slot].state = HUB_SLOT_SENT;
    hub_mutex_unlock(&pool->lock);
}

void hub_slot_pool_drop(struct hub_slot_pool *pool, uint32_t slot)
{
    hub_mutex_lock(&pool->lock);
    CHECK(slot < pool->count && pool->records[slot].state == HUB_SLOT_LOANED);
    end_loan(pool, slot);
    hub_mutex_unlock(&pool->lock);
}

/* r[impl shm.slot.payload-offset] */
uint8_t *hub_slot_pool_payload(const struct hub_slot_pool *pool, uint32_t slot)
{
    CHECK(slot < pool->count);
    return pool->slots + (size_t)slot * pool->slot_size + GENERATION_SIZE;
}

static void return_word(struct hub_slot_pool *pool, uint32_t word) REQUIRES(pool->lock)
{
    uint64_t bits = pool->cache[word], stray;

    if (bits == 0)
        return;
    pool->cached -= (uint32_t)__builtin_popcountll(bits);
    pool->cache[word] = 0;
    pool->free[word] |= bits;
    stray = hub_set_bits64(&pool->bitmap[word], bits) & bits;
    pool->stray_bits += (uint64_t)__builtin_popcountll(stray);
    while (bits)
        pool->records[next_slot(&bits, word)].state = HUB_SLOT_FREE;
}

void hub_slot_pool_return_cache(struct hub_slot_pool *pool)
{
    hub_mutex_lock(&pool->lock);
    for (uint32_t word = pool->lowest; word < words_of(pool->count); word++)
        return_word(pool, word);
    pool->lowest = words_of(pool->count);
    hub_mutex_unlock(&pool->lock);
}

/* Slots that the dead peer returned itself are harvested first. Violations found there are by
 * others and are ignored. */
uint32_t hub_slot_pool_reclaim(struct hub_slot_pool *pool, uint32_t peer)
{
    uint32_t count = 0;

    hub_mutex_lock(&pool->lock);
    (void)harvest(pool);
    for (uint32_t slot = 0; slot < pool->count; slot++) {
        struct hub_slot_record *record = &pool->records[slot];

        if (record->state != HUB_SLOT_SENT || record->peer != peer)
            continue;
        record->generation++;
        hub_store_relaxed(generation_of(pool, slot), record->generation);
        end_loan(pool, slot);
        count++;
    }
    hub_mutex_unlock(&pool->lock);
    return count;
}

uint32_t hub_slot_pool_free_count(struct hub_slot_pool *pool)
{
    uint32_t count = 0;

    hub_mutex_lock(&pool->lock);
    for (uint32_t slot = 0; slot < pool->count; slot++) {
        uint8_t state = pool->records[slot].state;
        bool back = hub_load_relaxed64(&pool->bitmap[slot / WORD_BITS]) & bit_of(slot);

        count +=
            state == HUB_SLOT_FREE || state == HUB_SLOT_CACHED || (state == HUB_SLOT_SENT && back);
    }
    hub_mutex_unlock(&pool->lock);
    return count;
}

uint64_t hub_slot_pool_stray_bits(struct hub_slot_pool *pool)
{
    uint64_t count;

    hub_mutex_lock(&pool->lock);
    count = pool->stray_bits;
    hub_mutex_unlock(&pool->lock);
    return count;
}

void hub_slot_pool_format(const struct hub_geometry *geometry, uint8_t *memory)
{
    struct hub_a64 *bitmap = (struct hub_a64 *)(void *)memory;
    uint32_t count = geometry->limits.slot_count;

    for (uint32_t word = 0; word < words_of(count); word++)
        hub_publish64(&bitmap[word], valid_bits(count, word));
}

void hub_slot_pool_reset(const struct hub_geometry *geometry, uint8_t *memory)
{
    uint8_t *slots = memory + geometry->bitmap_size;

    for (uint32_t slot = 0; slot < geometry->limits.slot_count; slot++) {
        struct hub_a32 *generation = generation_word(slots, geometry->limits.slot_size, slot);

        hub_store_relaxed(generation, hub_load_relaxed(generation) + 1);
    }
    hub_slot_pool_format(geometry, memory);
}

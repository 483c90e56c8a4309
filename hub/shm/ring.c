/* SPDX-License-Identifier: Apache-2.0 */
/* ring: a foreign index is loaded only when the cached one says empty or full. An accepted index is
 * kept as a free-running number, whatever convention the peer has. */
#include "hub/shm/ring.h"

#include <rapahub/error.h>

#include "hub/base/check.h"

#define POPS_UNSHOWN 32 /* pops before the tail must be published */
/* cells between the current one and the prefetched one, when messages go one by one */
#define AHEAD 4

/* A descriptor as the words of its cell, which saves one copy of each message. */
typedef uint64_t __attribute__((may_alias)) aliased;

/* The caller has just filled the descriptor field by field. A load of a whole word would wait for
 * the stores to its parts, so the words are put together from fields. Reserved bytes are 0. */
static inline void put_cell(struct hub_ring_cell *cell, const struct hub_descriptor *from)
{
    const aliased *payload = (const aliased *)(const void *)from->inline_payload;

    hub_store_relaxed64(&cell->words[0], from->msg_type | (uint64_t)from->id << 32);
    hub_store_relaxed64(&cell->words[1], from->method_id);
    hub_store_relaxed64(&cell->words[2],
                        from->payload_slot | (uint64_t)from->payload_generation << 32);
    hub_store_relaxed64(&cell->words[3], from->payload_offset | (uint64_t)from->payload_len << 32);
#pragma GCC unroll 4
    for (size_t i = 0; i < HUB_INLINE_SIZE / sizeof *payload; i++)
        hub_store_relaxed64(&cell->words[4 + i], payload[i]);
}

static inline void take_cell(struct hub_descriptor *to, const struct hub_ring_cell *cell)
{
    hub_copy_in_pairs(to, cell->words, HUB_DESCRIPTOR_WORDS / 2);
}

/* `raw` is head - tail, one of which is the peer's, `foreign`. Returns the number of descriptors
 * between them, or UINT32_MAX if no honest peer can have written the index.
 * r[impl hub.ring.convention] */
static inline uint32_t judge(uint32_t raw, uint32_t foreign, uint32_t size,
                             enum hub_ring_convention *convention)
{
    uint32_t mask = size - 1;

    if (*convention == HUB_RING_MODULO)
        return foreign < size ? raw & mask : UINT32_MAX;
    if (raw <= mask) {
        if (foreign >= size)
            *convention = HUB_RING_FREE_RUNNING;
        return raw;
    }
    if (*convention == HUB_RING_FREE_RUNNING || foreign >= size)
        return UINT32_MAX;
    *convention = HUB_RING_MODULO;
    return raw & mask;
}

void hub_ring_trust(enum hub_ring_convention *convention)
{
    if (*convention == HUB_RING_UNKNOWN)
        *convention = HUB_RING_FREE_RUNNING;
}

int hub_ring_distance(uint32_t head, uint32_t tail, uint32_t size,
                      enum hub_ring_convention *convention)
{
    uint32_t distance = judge(head - tail, head, size, convention);

    if (distance == UINT32_MAX)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.ring.capacity",
                            "head %u is no place in a ring of %u descriptors with tail %u", head,
                            size, tail);
    return (int)distance;
}

/* Sets `stop` to the position where the ring is full, as far as known, or to head_next if
 * descriptors are held back. */
static void note_stop(struct hub_ring_producer *ring)
{
    ring->stop =
        ring->head_next == ring->head_shown ? ring->tail_seen + ring->mask : ring->head_next;
}

/* Descriptors in the ring are unread, as far as the tail can be believed. Otherwise the ring counts
 * as full, and the next read of the tail is a violation. */
void hub_ring_producer_init(struct hub_ring_producer *ring, struct hub_ring_cell *cells,
                            uint32_t size, struct hub_a32 *head, const struct hub_a32 *tail)
{
    uint32_t own = hub_load_relaxed(head), theirs = hub_observe(tail);

    CHECK(size >= 2 && (size & (size - 1)) == 0);
    *ring = (struct hub_ring_producer){
        .cells = cells,
        .head = head,
        .tail = tail,
        .size = size,
        .mask = size - 1,
        .head_next = own,
        .head_shown = own,
        .tail_seen = own - theirs < size ? theirs : own - (size - 1),
    };
    note_stop(ring);
}

void hub_ring_consumer_init(struct hub_ring_consumer *ring, const struct hub_ring_cell *cells,
                            uint32_t size, const struct hub_a32 *head, struct hub_a32 *tail)
{
    uint32_t own = hub_load_relaxed(tail);

    CHECK(size >= 2 && (size & (size - 1)) == 0);
    *ring = (struct hub_ring_consumer){
        .cells = cells,
        .head = head,
        .tail = tail,
        .size = size,
        .mask = size - 1,
        .tail_next = own,
        .tail_shown = own,
        .head_seen = own,
        .unshown_most = size / 4 < POPS_UNSHOWN ? size / 4 : POPS_UNSHOWN,
    };
    ring->due = own + ring->unshown_most;
}

/* A tail never moves back, nor past the published head. r[impl shm.ring.capacity] */
int hub_ring_unread(struct hub_ring_producer *ring)
{
    uint32_t tail = hub_observe(ring->tail);
    uint32_t used = judge(ring->head_next - tail, tail, ring->size, &ring->convention);

    if (used > ring->head_next - ring->tail_seen || used < ring->head_next - ring->head_shown)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.ring.capacity",
                            "tail %u is no place in a ring of %u descriptors with head %u", tail,
                            ring->size, ring->head_shown);
    ring->tail_seen = ring->head_next - used;
    note_stop(ring);
    return (int)used;
}

int hub_ring_room(struct hub_ring_producer *ring)
{
    int used;

    if (ring->head_next - ring->tail_seen < ring->size - 1)
        return 1;
    used = hub_ring_unread(ring);
    return used < 0 ? used : (uint32_t)used < ring->size - 1;
}

/* Prefetches a later cell, so that a producer of several messages owns each cell when it reaches
 * it. Otherwise the first lock after the put would wait until the consumer releases the line. */
void hub_ring_put(struct hub_ring_producer *ring, const struct hub_descriptor *descriptor)
{
    uint32_t at = ring->head_next, mask = ring->mask;

    CHECK(at - ring->tail_seen < mask);
    hub_foresee(&ring->cells[(at + AHEAD) & mask]);
    put_cell(&ring->cells[at & mask], descriptor);
    ring->head_next = ring->stop = at + 1;
}

bool hub_ring_may_hold(const struct hub_ring_producer *ring, uint32_t most)
{
    return ring->head_next - ring->head_shown < most &&
           ring->head_next - ring->tail_seen < ring->size - 1;
}

bool hub_ring_publish(struct hub_ring_producer *ring)
{
    if (ring->head_shown == ring->head_next)
        return false;
    ring->head_shown = ring->head_next;
    note_stop(ring);
    hub_publish(ring->head, ring->head_next);
    return true;
}

void hub_ring_show_filled(struct hub_ring_producer *ring)
{
    uint32_t head = ring->head_next + 1;

    ring->head_next = head;
    ring->head_shown = head;
    hub_publish(ring->head, head);
}

bool hub_ring_send(struct hub_ring_producer *ring, const struct hub_descriptor *descriptor)
{
    if (!hub_ring_may_send(ring))
        return false;
    put_cell(hub_ring_cell_to_fill(ring), descriptor);
    hub_ring_show_filled(ring);
    return true;
}

/* The head is read again only when all that it published before is consumed. So it cannot move back
 * without falling below the tail. */
static int refresh_head(struct hub_ring_consumer *ring)
{
    int distance;

    if (ring->head_seen != ring->tail_next)
        return 0;
    distance =
        hub_ring_distance(hub_ring_head(ring), ring->tail_next, ring->size, &ring->convention);
    if (distance < 0)
        return distance;
    ring->head_seen = ring->tail_next + (uint32_t)distance;
    return 0;
}

int hub_ring_pop(struct hub_ring_consumer *ring, struct hub_descriptor *to, uint32_t max)
{
    uint32_t count;
    int r = refresh_head(ring);

    if (r < 0)
        return r;
    count = ring->head_seen - ring->tail_next;
    if (count > max)
        count = max;
    for (uint32_t i = 0; i < count; i++) {
        if (count - i > AHEAD)
            __builtin_prefetch(&ring->cells[(ring->tail_next + i + AHEAD) & (ring->size - 1)]);
        take_cell(&to[i], &ring->cells[(ring->tail_next + i) & (ring->size - 1)]);
    }
    ring->tail_next += count;
    return (int)count;
}

bool hub_ring_reaches(const struct hub_ring_consumer *ring, uint32_t head)
{
    uint32_t at = ring->tail_next;
    uint32_t before = head - at - 1; /* number of received descriptors after this one */

    if (before >= AHEAD)
        __builtin_prefetch(&ring->cells[(at + AHEAD) & ring->mask]);
    return before < ring->mask && ring->convention == HUB_RING_FREE_RUNNING;
}

void hub_ring_skip(struct hub_ring_consumer *ring, uint32_t head)
{
    ring->tail_next++;
    ring->head_seen = head;
}

bool hub_ring_ready(const struct hub_ring_consumer *ring)
{
    enum hub_ring_convention convention = ring->convention;
    uint32_t head;

    if (ring->head_seen != ring->tail_next)
        return true;
    /* before the head, so that two changed lines are fetched at the same time */
    __builtin_prefetch(&ring->cells[ring->tail_next & (ring->size - 1)]);
    head = hub_ring_head(ring);
    return judge(head - ring->tail_next, head, ring->size, &convention) != 0;
}

__attribute__((noinline)) bool hub_ring_tail_is_due(const struct hub_ring_consumer *ring)
{
    uint32_t unshown = ring->tail_next - ring->tail_shown;
    /* never less than `unshown`; and unshown_most is below half of the ring */
    uint32_t known = ring->head_seen - ring->tail_shown;

    return unshown != 0 && (unshown >= ring->unshown_most || known >= ring->size / 2);
}

/* The release orders our reads of the cells before the producer may write them again.
 * r[impl shm.ordering.ring-consume] */
bool hub_ring_show_tail(struct hub_ring_consumer *ring)
{
    if (ring->tail_shown == ring->tail_next)
        return false;
    ring->tail_shown = ring->tail_next;
    ring->due = ring->tail_shown + ring->unshown_most;
    hub_publish(ring->tail, ring->tail_next);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ring: descriptors in one direction, one producer and one consumer, each in its own process.
 *
 * Indices are free-running and wrap at 2^32; a side never reads back what it wrote. What the other
 * side wrote is checked by its distance: a ring cannot be made to read outside of itself, nor to
 * loop. Each struct belongs to one side, under that side's lock. r[impl hub.ring.indices] */
#ifndef HUB_SHM_RING_H
#define HUB_SHM_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/layout.h"

#define HUB_RING_BATCH 32 /* descriptors taken in one go */

/* How the other side counts. r[impl hub.ring.convention] */
enum hub_ring_convention {
    HUB_RING_FREE_RUNNING, /* known: a participant, or a private guest */
    HUB_RING_UNKNOWN,      /* tolerated until it shows */
    HUB_RING_MODULO        /* it keeps its indices modulo ring_size */
};

struct hub_ring_producer {
    struct hub_ring_cell *cells;
    struct hub_a32 *head;       /* ours */
    const struct hub_a32 *tail; /* theirs */
    uint32_t size, mask;
    uint32_t head_next;  /* our head, published or not */
    uint32_t stop;       /* one message can be put and shown as long as head_next is not that */
    uint32_t head_shown; /* as published */
    uint32_t tail_seen;  /* last accepted, free-running */
    enum hub_ring_convention convention;
};

struct hub_ring_consumer {
    const struct hub_ring_cell *cells;
    const struct hub_a32 *head; /* theirs */
    struct hub_a32 *tail;       /* ours */
    uint32_t size, mask;
    uint32_t tail_next;  /* our tail, published or not */
    uint32_t head_seen;  /* last accepted, free-running */
    uint32_t tail_shown; /* as published */
    enum hub_ring_convention convention;
    uint32_t unshown_most; /* behind so many the tail is due */
    uint32_t due;          /* so it is not as long as head_seen is before that */
};

/* Starts from the own index as it stands in the segment, read once. */
void hub_ring_producer_init(struct hub_ring_producer *ring, struct hub_ring_cell *cells,
                            uint32_t size, struct hub_a32 *head, const struct hub_a32 *tail);
void hub_ring_consumer_init(struct hub_ring_consumer *ring, const struct hub_ring_cell *cells,
                            uint32_t size, const struct hub_a32 *head, struct hub_a32 *tail);

/* 1 if a descriptor fits, 0 if not, RAPAHUB_EPROTOCOL (shm.ring.capacity) where the other side's
 * tail cannot be. r[impl shm.ring.full] */
int hub_ring_room(struct hub_ring_producer *ring);

/* Looks at the tail now: how many descriptors the other side has not taken yet, unpublished ones
 * too, or RAPAHUB_EPROTOCOL. For who waits until the ring is empty, or has room. */
int hub_ring_unread(struct hub_ring_producer *ring);

/* Writes the descriptor behind the others; not visible before hub_ring_publish. There must be room.
 */
void hub_ring_put(struct hub_ring_producer *ring, const struct hub_descriptor *descriptor);

/* May what was put wait to be shown: it is less than `most`, and as far as is known there is room
 * for another? */
bool hub_ring_may_hold(const struct hub_ring_producer *ring, uint32_t most);

/* Shows what was put: true if there was anything. r[impl shm.ordering.ring-publish] */
bool hub_ring_publish(struct hub_ring_producer *ring);

/* Copies at most `max` descriptors, each word once: how many, or RAPAHUB_EPROTOCOL. The tail moves
 * privately. r[impl shm.ordering.ring-consume] r[impl hub.copy.descriptor] */
int hub_ring_take(struct hub_ring_consumer *ring, struct hub_descriptor *to, uint32_t max);

/* Is there a descriptor to take? The look before a sleep; it may also say yes of a bad index. */
bool hub_ring_ready(const struct hub_ring_consumer *ring);

/* Should the tail be shown now (many pops unpublished, or the ring is half full)?
 * r[impl hub.ring.lazy-tail] */
bool hub_ring_tail_is_due(const struct hub_ring_consumer *ring);
static inline bool hub_ring_tail_due(const struct hub_ring_consumer *ring)
{
    return (int32_t)(ring->head_seen - ring->due) >= 0 && hub_ring_tail_is_due(ring);
}

/* Shows the tail: true if it moved. */
bool hub_ring_show_tail(struct hub_ring_consumer *ring);

/* The other side is known to count freely from now on, unless it showed already that it does not.
 */
void hub_ring_trust(enum hub_ring_convention *convention);

/* One message and nothing else: puts and shows it. False where another one is held back or was not
 * taken yet as far as is known: nothing was written. `may_send`: would it?
 * r[impl shm.ordering.ring-publish] */
static inline bool hub_ring_may_send(const struct hub_ring_producer *ring)
{
    return ring->head_next != ring->stop;
}
bool hub_ring_send(struct hub_ring_producer *ring, const struct hub_descriptor *descriptor);

/* The same for a message that is written where the other side reads it: its cell, where
 * hub_ring_may_send; to be shown when all of it stands there. */
static inline struct hub_ring_cell *hub_ring_cell_to_fill(const struct hub_ring_producer *ring)
{
    return &ring->cells[ring->head_next & ring->mask];
}
void hub_ring_show_filled(struct hub_ring_producer *ring);

/* The cell of the next descriptor, each word of which is to be read once, and is left where it is.
 * hub_ring_reaches: it is there, by a head that was seen before or is read just now; false also
 * where what the peer wrote is for hub_ring_take to judge. That head is for hub_ring_skip, which
 * takes it. r[impl hub.copy.descriptor] */
static inline const struct hub_ring_cell *hub_ring_cell_to_read(
    const struct hub_ring_consumer *ring)
{
    return &ring->cells[ring->tail_next & ring->mask];
}
bool hub_ring_reaches(const struct hub_ring_consumer *ring, uint32_t head);

/* The head as the other side shows it now; what it shows may be read behind this.
 * r[impl shm.ordering.ring-consume] */
static inline uint32_t hub_ring_head(const struct hub_ring_consumer *ring)
{
    return hub_observe(ring->head);
}

void hub_ring_skip(struct hub_ring_consumer *ring, uint32_t head);

/* Distance of a foreign head from our tail: 0 to size - 1, or RAPAHUB_EPROTOCOL. */
int hub_ring_distance(uint32_t head, uint32_t tail, uint32_t size,
                      enum hub_ring_convention *convention);

#endif

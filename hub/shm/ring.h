/* SPDX-License-Identifier: Apache-2.0 */
/* ring: descriptors in one direction, with one producer and one consumer in different processes.
 *
 * Indices are free-running and wrap at 2^32. A side never reads back an index that it wrote, and
 * checks the other side's by its distance: no value can make it access memory outside the ring, or
 * loop. Each struct belongs to one side, under that side's lock. r[impl hub.ring.indices]
 */
#ifndef HUB_SHM_RING_H
#define HUB_SHM_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/layout.h"

#define HUB_RING_BATCH 32 /* descriptors received at once */

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
    uint32_t stop;       /* one message can be put and published while head_next differs from it */
    uint32_t head_shown; /* the published value */
    uint32_t tail_seen;  /* last accepted value, free-running */
    enum hub_ring_convention convention;
};

struct hub_ring_consumer {
    const struct hub_ring_cell *cells;
    const struct hub_a32 *head; /* theirs */
    struct hub_a32 *tail;       /* ours */
    uint32_t size, mask;
    uint32_t tail_next;  /* our tail, published or not */
    uint32_t head_seen;  /* last accepted value, free-running */
    uint32_t tail_shown; /* the published value */
    enum hub_ring_convention convention;
    uint32_t unshown_most; /* unpublished pops at which the tail is due */
    uint32_t due;          /* the tail is not due as long as head_seen is before it */
};

/* Start from the own index in the segment, which is read once. */
void hub_ring_producer_init(struct hub_ring_producer *ring, struct hub_ring_cell *cells,
                            uint32_t size, struct hub_a32 *head, const struct hub_a32 *tail);
void hub_ring_consumer_init(struct hub_ring_consumer *ring, const struct hub_ring_cell *cells,
                            uint32_t size, const struct hub_a32 *head, struct hub_a32 *tail);

/* Returns 1 if a descriptor fits, 0 if not, RAPAHUB_EPROTOCOL (shm.ring.capacity) if the other
 * side's tail is impossible. r[impl shm.ring.full] */
int hub_ring_room(struct hub_ring_producer *ring);

/* Reads the tail now and returns the number of descriptors that the other side has not consumed,
 * including unpublished ones, or RAPAHUB_EPROTOCOL. For waiting until the ring is empty or has
 * space. */
int hub_ring_unread(struct hub_ring_producer *ring);

/* Writes the next descriptor, invisible to the other side until hub_ring_publish. There must be
 * space. */
void hub_ring_put(struct hub_ring_producer *ring, const struct hub_descriptor *descriptor);

/* Says whether the publication may be delayed: fewer than `most` descriptors are held back, and
 * there is space for another as far as known. */
bool hub_ring_may_hold(const struct hub_ring_producer *ring, uint32_t most);

/* Publishes the descriptors. True if there were any. r[impl shm.ordering.ring-publish] */
bool hub_ring_publish(struct hub_ring_producer *ring);

/* Copies at most `max` descriptors, each word once. Returns their number or RAPAHUB_EPROTOCOL. The
 * new tail stays private. r[impl shm.ordering.ring-consume] r[impl hub.copy.descriptor] */
int hub_ring_pop(struct hub_ring_consumer *ring, struct hub_descriptor *to, uint32_t max);

/* Says whether there is a descriptor to receive: the last check before a sleep. True also for an
 * impossible head. */
bool hub_ring_ready(const struct hub_ring_consumer *ring);

/* Says whether the tail should be published now, because many pops are unpublished or the ring is
 * half full. r[impl hub.ring.lazy-tail] */
bool hub_ring_tail_is_due(const struct hub_ring_consumer *ring);
static inline bool hub_ring_tail_due(const struct hub_ring_consumer *ring)
{
    return (int32_t)(ring->head_seen - ring->due) >= 0 && hub_ring_tail_is_due(ring);
}

/* Publishes the tail. True if it moved. */
bool hub_ring_show_tail(struct hub_ring_consumer *ring);

/* Records that the other side counts freely from now on, unless it has already shown otherwise. */
void hub_ring_trust(enum hub_ring_convention *convention);

/* hub_ring_send puts and publishes a single message. False if another one is held back, or is
 * unread as far as known: then nothing was written. hub_ring_may_send says whether it would send.
 * r[impl shm.ordering.ring-publish] */
static inline bool hub_ring_may_send(const struct hub_ring_producer *ring)
{
    return ring->head_next != ring->stop;
}
bool hub_ring_send(struct hub_ring_producer *ring, const struct hub_descriptor *descriptor);

/* The same for a message that is written in place. hub_ring_cell_to_fill returns its cell, if
 * hub_ring_may_send; hub_ring_show_filled publishes it when it is complete. */
static inline struct hub_ring_cell *hub_ring_cell_to_fill(const struct hub_ring_producer *ring)
{
    return &ring->cells[ring->head_next & ring->mask];
}
void hub_ring_show_filled(struct hub_ring_producer *ring);

/* Read a descriptor in place. hub_ring_cell_to_read returns its cell, each word of which is to be
 * read once. hub_ring_reaches says whether it has arrived, by a head that was read earlier or just
 * now; it is also false for an index that hub_ring_pop must judge. hub_ring_skip consumes the
 * cell, given that head. r[impl hub.copy.descriptor] */
static inline const struct hub_ring_cell *hub_ring_cell_to_read(
    const struct hub_ring_consumer *ring)
{
    return &ring->cells[ring->tail_next & ring->mask];
}
bool hub_ring_reaches(const struct hub_ring_consumer *ring, uint32_t head);

/* Returns the head that the other side publishes now. Cells before it may be read afterwards.
 * r[impl shm.ordering.ring-consume] */
static inline uint32_t hub_ring_head(const struct hub_ring_consumer *ring)
{
    return hub_observe(ring->head);
}

void hub_ring_skip(struct hub_ring_consumer *ring, uint32_t head);

/* Returns the distance of a foreign head from our tail, 0 to size - 1, or RAPAHUB_EPROTOCOL. */
int hub_ring_distance(uint32_t head, uint32_t tail, uint32_t size,
                      enum hub_ring_convention *convention);

#endif

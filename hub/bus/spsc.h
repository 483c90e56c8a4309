/* SPDX-License-Identifier: Apache-2.0 */
/* spsc: a ring of cells with one consumer, and of kind SPSC with one producer. Nothing here waits
 * or repairs. r[impl region.fifo] r[impl region.in-flight] */
#ifndef HUB_BUS_SPSC_H
#define HUB_BUS_SPSC_H

#include "hub/bus/region.h"

/* Publishes at `tail`. Takes effect with the store of the cell's state: a producer that dies before
 * has done nothing. RAPAHUB_EFULL, without a diagnosis; RAPAHUB_ECORRUPT; RAPAHUB_ERETIRED.
 * r[impl region.full] r[impl region.retired] */
int hub_spsc_push(const struct hub_ring_view *view, uint64_t tail, const void *data, size_t size,
                  uint32_t producer);

/* Publishes a copy of a message of another ring, with its position there where the view says so.
 * Errors as for hub_spsc_push. */
int hub_spsc_forward(const struct hub_ring_view *view, uint64_t tail,
                     const struct rapahub_message *message);

/* Fills a cell that is this producer's, and publishes it: from then on it is received, whatever
 * becomes of its producer. r[impl region.committed] */
void hub_spsc_fill(const struct hub_ring_view *view, uint64_t position, const void *data,
                   size_t size, uint32_t producer);

enum hub_spsc_cell {
    HUB_SPSC_EMPTY,    /* nothing was published there */
    HUB_SPSC_MESSAGE,  /* a message */
    HUB_SPSC_POISONED, /* a producer died over it */
    HUB_SPSC_CORRUPT   /* its state or its length is none; with a diagnosis */
};

/* Looks at the cell of a position. `out` gets a message, as a view. r[impl region.cell] */
enum hub_spsc_cell hub_spsc_look(const struct hub_ring_view *view, uint64_t head,
                                 struct rapahub_message *out);

/* Frees the cell of a position for the next lap. */
void hub_spsc_free(const struct hub_ring_view *view, uint64_t head);

static inline bool hub_spsc_is_empty(const struct hub_ring_view *view, uint64_t head)
{
    return hub_observe64(&hub_ring_view_cell(view, head)->state) == hub_cell_free(head);
}

/* The cell before a position of this lap is not free: the ring is full. */
static inline bool hub_spsc_is_full(const struct hub_ring_view *view, uint64_t tail)
{
    return hub_observe64(&hub_ring_view_cell(view, tail)->state) < hub_cell_free(tail);
}

#endif

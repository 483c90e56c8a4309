/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_view: the body of a region of kind SEQUENCER, by private numbers. */
#ifndef HUB_BUS_SEQUENCER_VIEW_H
#define HUB_BUS_SEQUENCER_VIEW_H

#include "hub/bus/sequencer/sequencer_shape.h"

struct hub_sequencer_view {
    struct hub_region_sequencer *body; /* NULL: the region is of another kind */
    struct hub_region_stage_gate *gates;
    struct hub_a64 *avail; /* NULL: a single producer */
    uint8_t *user;         /* NULL: positions have no bytes */
    uint32_t ring_size, stage_count, user_bytes;
    const struct hub_sequencer_stage *stages; /* the shape's, which outlives the view */
};

/* Makes the view of a sequencer from a shape that was checked. */
struct hub_sequencer_view hub_sequencer_view_at(uint8_t *data, uint32_t body_off,
                                                const struct hub_sequencer_shape *shape);

/* Writes the constants of a new body. */
void hub_sequencer_view_fill(const struct hub_sequencer_view *view,
                             const struct hub_sequencer_shape *shape);

/* Empties it: nothing is claimed, and no stage has a gate. The constants stay. */
void hub_sequencer_view_empty(const struct hub_sequencer_view *view);

static inline struct hub_a64 *hub_sequencer_view_word(const struct hub_sequencer_view *view,
                                                      uint64_t position)
{
    return &view->avail[position & (view->ring_size - 1)];
}

/* Returns the first position that is not claimed; with a single producer, that is not published. */
static inline uint64_t hub_sequencer_view_claims(const struct hub_sequencer_view *view)
{
    return hub_observe64(view->avail ? &view->body->claim : &view->body->cursor);
}

/* Returns a position before which all are published or poisoned; of many producers it looks at a
 * word for each position of the ring. It only grows. */
uint64_t hub_sequencer_view_front(const struct hub_sequencer_view *view);

/* The finding of a look at a position. */
enum hub_sequencer_look {
    HUB_SEQUENCER_NOT_YET,
    HUB_SEQUENCER_THERE,
    HUB_SEQUENCER_SKIP,  /* poisoned */
    HUB_SEQUENCER_LAPPED /* the word is of a later position, or of none */
};

/* Looks whether a position is published. */
enum hub_sequencer_look hub_sequencer_view_look(const struct hub_sequencer_view *view,
                                                uint64_t position);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ring_reader: the reading side of a ring: shows messages and takes them out, skips what dead
 * producers left, and waits. Its caller holds the role. */
#ifndef HUB_BUS_RING_READER_H
#define HUB_BUS_RING_READER_H

#include "hub/bus/role.h"

struct hub_ring_reader {
    struct hub_ring_view view;
    struct hub_role_counterpart producer;
    uint64_t head;
    uint64_t skipped;  /* poisoned positions since the last message; reset by the caller */
    uint32_t unstored; /* messages that were taken out since the head was stored */
    uint32_t empty;    /* looks that found nothing */
    bool many;         /* positions of the ring are claimed: it has many producers */
    bool spins;
    struct rapahub_region_blocker blocker; /* after RAPAHUB_EBLOCKED */
};

/* Begins at the head that the cells tell; `view`, `producer` and `many` are set. RAPAHUB_ECORRUPT.
 */
int hub_ring_reader_begin(struct hub_ring_reader *reader);

/* Shows the message `ahead` of the head, as a view. RAPAHUB_EEMPTY, without a diagnosis;
 * RAPAHUB_ECORRUPT. */
int hub_ring_reader_show(struct hub_ring_reader *reader, uint64_t ahead,
                         struct rapahub_message *out);

/* Frees the cell at the head, and wakes who waits for room. */
void hub_ring_reader_take(struct hub_ring_reader *reader);

/* Stores the head for others to see. */
void hub_ring_reader_store(struct hub_ring_reader *reader);

static inline bool hub_ring_reader_is_empty(const struct hub_ring_reader *reader)
{
    const struct hub_region_cell *cell = hub_ring_view_cell(&reader->view, reader->head);

    return hub_observe64(&cell->state) == hub_cell_free(reader->head);
}

/* For a reader that found nothing and does not wait: takes back what a dead producer left, at once
 * where `told` says that there may be something, else now and then. */
void hub_ring_reader_rest(struct hub_ring_reader *reader, bool told);

/* Waits until there is something. 0, -ETIMEDOUT without a diagnosis, RAPAHUB_EBLOCKED,
 * RAPAHUB_EPEERDEAD, RAPAHUB_ESTALE. */
int hub_ring_reader_wait(struct hub_ring_reader *reader, uint64_t deadline_ns);

#endif

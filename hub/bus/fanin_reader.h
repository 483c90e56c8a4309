/* SPDX-License-Identifier: Apache-2.0 */
/* fanin_reader: what a consumer reads: its ring, or all rings of a region of kind FANIN in turn.
 * Its caller holds the role.
 *
 * A ring has its turn until it is empty, or until 32 of its messages were taken while it had it: so
 * a producer that publishes without end keeps no other from being heard. r[impl region.fanin.turn]
 */
#ifndef HUB_BUS_FANIN_READER_H
#define HUB_BUS_FANIN_READER_H

#include "hub/bus/ring_reader.h"

#define HUB_FANIN_TURN 32 /* messages of a ring before the next one has its turn */

struct hub_fanin_reader {
    struct hub_ring_reader *rings;
    uint32_t count; /* 1 but in a region of kind FANIN */
    uint32_t at;    /* the ring that has its turn */
    uint32_t taken; /* messages that were taken in this turn */
    bool fanin;
    bool spins;
};

/* Begins with the ring of a consumer, or with all rings, at the heads that the cells tell.
 * RAPAHUB_ECORRUPT, RAPAHUB_ENOMEM; nothing is to be ended then. r[impl region.resume] */
int hub_fanin_reader_begin(struct hub_fanin_reader *reader, struct rapahub_region *region,
                           uint32_t index);

/* Stores the heads, and frees the memory. */
void hub_fanin_reader_end(struct hub_fanin_reader *reader);

/* Returns the ring that has its turn. */
static inline struct hub_ring_reader *hub_fanin_reader_ring(const struct hub_fanin_reader *reader)
{
    return &reader->rings[reader->at];
}

/* Shows the first message of the first ring that has one, which has its turn from then on.
 * RAPAHUB_EEMPTY, without a diagnosis: no ring has one; RAPAHUB_ECORRUPT. */
int hub_fanin_reader_show(struct hub_fanin_reader *reader, struct rapahub_message *out);

/* Shows the message `ahead` of the first one in the ring that has its turn. */
int hub_fanin_reader_show_ahead(struct hub_fanin_reader *reader, uint64_t ahead,
                                struct rapahub_message *out);

/* Returns how many messages the ring that has its turn may give in a row. */
uint64_t hub_fanin_reader_most(const struct hub_fanin_reader *reader);

/* Frees the cell of the first message in the ring that has its turn. */
void hub_fanin_reader_take(struct hub_fanin_reader *reader);

bool hub_fanin_reader_is_empty(const struct hub_fanin_reader *reader);

/* The same as hub_ring_reader_rest and hub_ring_reader_wait, for all rings. Where there is more
 * than one, no producer is the only counterpart: the wait does not end with the death of a
 * producer. */
void hub_fanin_reader_rest(struct hub_fanin_reader *reader, bool told);
int hub_fanin_reader_wait(struct hub_fanin_reader *reader, uint64_t deadline_ns);

#endif

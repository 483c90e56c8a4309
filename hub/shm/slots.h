/* SPDX-License-Identifier: Apache-2.0 */
/* slots: payload slots as a link uses them, whether they are of one size (slot_pool) or of several
 * (slot_bank, slot_purse): which, the segment decides once. */
#ifndef HUB_SHM_SLOTS_H
#define HUB_SHM_SLOTS_H

#include "hub/shm/segment.h"
#include "hub/shm/slot_bank.h"
#include "hub/shm/slot_pool.h"
#include "hub/shm/slot_purse.h"

struct hub_slots_kind;

/* The slots this side sends in: the host's of a group, or a guest's. Any thread. */
struct hub_slots {
    const struct hub_slots_kind *kind;
    union {
        struct hub_slot_pool pool;
        struct hub_slot_bank *bank; /* owned, as the next */
        struct hub_slot_purse *purse;
    };
};

/* As the host of a segment; as the guest `peer` in it. -ENOMEM. `fini` accepts what was never
 * initialised but zeroed. As the host -ENOSPC, where there is no room for its own slots. */
int hub_slots_init_host(struct hub_slots *slots, const struct hub_segment *segment);
int hub_slots_init_guest(struct hub_slots *slots, const struct hub_segment *segment,
                         const struct hub_segment_view *view, uint32_t peer);
void hub_slots_fini(struct hub_slots *slots);

/* How memory that is added goes to the other side: a host sends it by its end of the doorbell (of a
 * segment with one guest; -1: none now), a guest calls `hear`, which reads its end into the inbox
 * that this returns: NULL where nothing is ever sent. */
struct hub_slots_line {
    int bell;
    void (*hear)(void *user); /* any thread */
    void *user;
};
const struct hub_doorbell_inbox *hub_slots_connect(struct hub_slots *slots,
                                                   const struct hub_slots_line *line);

/* Host: so many guests are in the segment. r[impl hub.slot.quota] */
void hub_slots_set_guests(struct hub_slots *slots, uint32_t guests);

/* Fills in slot and generation of a descriptor for `size` bytes: where they go, until `sent` or
 * `drop`; NULL with *code: -EAGAIN (without a diagnosis), RAPAHUB_EPROTOCOL, or -ENOSPC for a guest
 * that has none, where the host has no room for one. */
uint8_t *hub_slots_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                        struct hub_descriptor *descriptor, int *code);

/* The same of those that came back longest ago: all go round, and none is in a cache of one CPU
 * alone any more. Of one size: as `loan`. */
uint8_t *hub_slots_loan_cold(struct hub_slots *slots, uint32_t peer, size_t size,
                             struct hub_descriptor *descriptor, int *code);
bool hub_slots_has_cold(const struct hub_slots *slots);
void hub_slots_sent(struct hub_slots *slots, uint32_t slot);
void hub_slots_drop(struct hub_slots *slots, uint32_t slot);

/* Where the payload area begins in a slot; its bytes in the largest slots; in this slot. */
uint32_t hub_slots_start(const struct hub_slots *slots);
size_t hub_slots_largest(const struct hub_slots *slots);
size_t hub_slots_room(const struct hub_slots *slots, uint32_t slot);

/* Would a loan succeed? The look before a sleep. */
bool hub_slots_ready(struct hub_slots *slots, uint32_t peer, size_t size);

/* How many bytes a message should have that is one of many: several slots take as much. */
size_t hub_slots_piece(const struct hub_slots *slots);

/* May a slot come without a wake-up on the link? Then it is looked for in slices. */
bool hub_slots_shared(const struct hub_slots *slots);

/* Guest: must the host be rung, so that it looks what this side has run out of? */
bool hub_slots_ask(const struct hub_slots *slots);

/* Guest: has it been granted none that `size` bytes fit in? Then none will come back either. */
bool hub_slots_bare(const struct hub_slots *slots, size_t size);

/* Host: gives a guest that comes its first share: 0, -ENOSPC; what it asks for since, a part of
 * it at each look: how many slots. */
int hub_slots_endow(struct hub_slots *slots, uint32_t peer);
uint32_t hub_slots_attend(struct hub_slots *slots, uint32_t peer);

/* Before a long sleep: what need not be held is given back. */
void hub_slots_rest(struct hub_slots *slots);

/* Host: takes back all that a guest of several sizes had, after proof of its death or where it
 * never came. */
void hub_slots_take_back(struct hub_slots *slots, uint32_t peer);

/* Slots that could be lent now: not lent, or given back; of several sizes, in the reserve of the
 * host, or at hand of the guest. What there is in all, and claims of the other side that the
 * records denied, and that blamed nobody. */
void hub_slots_count(struct hub_slots *slots, struct hub_slot_counts *out);

/* The slots the other side sends in. Under the receive token, but where something else is said. It
 * stays where it was initialised. */
struct hub_slots_in {
    struct hub_slots *own; /* with several sizes one set of records serves both directions */
    uint32_t peer;
    struct hub_slot_reader reader;
    uint32_t classes;                       /* HUB_CLASSES_MAX; 0: slots are of one size */
    struct hub_a32 shown[HUB_CLASSES_MAX];  /* slots that are held for long; of each class */
    struct hub_a32 hidden[HUB_CLASSES_MAX]; /* and are no longer; any thread */
    const struct hub_a32
        *most[HUB_CLASSES_MAX];               /* so many may be; 0 of a class that is not there */
    struct hub_a32 constant[HUB_CLASSES_MAX]; /* that, where it does not change */
};

/* `memory` is the other's pool. */
int hub_slots_in_init(struct hub_slots_in *in, struct hub_slots *own,
                      const struct hub_geometry *geometry, uint8_t *memory, uint32_t peer);
void hub_slots_in_fini(struct hub_slots_in *in);

/* Checks a private copy of a descriptor; the slot is held until `free`. With `to` its payload is
 * copied there. RAPAHUB_EPROTOCOL with the rule. */
int hub_slots_in_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to);
int hub_slots_in_free(struct hub_slots_in *in, uint32_t slot); /* any thread */

/* Copies a part of the payload of a slot that is held: `part` is its descriptor with the offset and
 * the length of the part. Each byte is to be copied once. RAPAHUB_EPROTOCOL where the generation is
 * another one behind it. */
int hub_slots_in_copy(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to);

/* How far behind a multiple of 64 the payload begins, if its slot is as those of our own layout
 * are; nothing of the descriptor need be right. */
uint32_t hub_slots_in_phase(const struct hub_slots_in *in, const struct hub_descriptor *descriptor);

/* A slot that is held for long: may it be, so that the sender still has half of its own? Takes it
 * as `take` does: where its payload lies, or NULL with *code. And that it is held no longer, before
 * it is freed (any thread). r[impl hub.slot.hold] */
static inline bool hub_slots_in_may_hold(const struct hub_slots_in *in, uint32_t slot)
{
    uint32_t c = in->classes > 0 ? slot >> 24 : 0; /* nobody has checked it yet */

    return c < HUB_CLASSES_MAX &&
           hub_peek(&in->shown[c]) - hub_peek(&in->hidden[c]) < hub_peek(in->most[c]);
}
const uint8_t *hub_slots_in_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                                 int *code);
void hub_slots_in_hide(struct hub_slots_in *in, uint32_t slot);

/* The words that giving a slot back changes: what a peer that takes no part may sleep on. */
void hub_slots_in_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2]);

#endif

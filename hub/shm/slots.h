/* SPDX-License-Identifier: Apache-2.0 */
/* slots: payload slots as links use them, of one size (slot_pool) or of several (slot_bank,
 * slot_purse). The segment decides once which kind it has. */
#ifndef HUB_SHM_SLOTS_H
#define HUB_SHM_SLOTS_H

#include "hub/shm/segment.h"
#include "hub/shm/slot_allocator.h"
#include "hub/shm/slot_cache.h"
#include "hub/shm/slot_pool.h"

struct hub_slots_kind;

/* The slots in which this side sends: the host's for a group, or a guest's. Any thread. */
struct hub_slots {
    const struct hub_slots_kind *kind;
    union {
        struct hub_slot_pool pool;
        struct hub_slot_allocator *allocator; /* owned, like the next */
        struct hub_slot_cache *cache;
    };
};

/* Initialise the slots of a segment, for its host and for the guest `peer`. -ENOMEM; for the host
 * also -ENOSPC if there is no space for its own slots. `fini` allows slots that are only zeroed. */
int hub_slots_init_host(struct hub_slots *slots, const struct hub_segment *segment);
int hub_slots_init_guest(struct hub_slots *slots, const struct hub_segment *segment,
                         const struct hub_segment_view *view, uint32_t peer);
void hub_slots_fini(struct hub_slots *slots);

/* Sets how added memory reaches the other side. A host sends it by its end of the doorbell, for a
 * segment with one guest; -1: none now. A guest calls `hear`, which reads its end into the returned
 * inbox, which is NULL if nothing is ever sent; `others` outlives that, and NULL stands for none.
 */
struct hub_slots_line {
    int bell;
    void (*hear)(void *user); /* any thread */
    void *user;
    const struct hub_doorbell_inbox
        *others; /* guest: for descriptors that are no memory of slots */
};
const struct hub_doorbell_inbox *hub_slots_connect(struct hub_slots *slots,
                                                   const struct hub_slots_line *line);

/* Host: sets the number of guests in the segment. r[impl hub.slot.quota] */
void hub_slots_set_guests(struct hub_slots *slots, uint32_t guests);

/* Lends a slot for `size` bytes, valid until `sent` or `drop`. Returns 0; -EAGAIN, without a
 * diagnosis; RAPAHUB_EPROTOCOL; -ENOSPC for a guest that has none, if the host has no space for
 * one. */
int hub_slots_loan(struct hub_slots *slots, uint32_t peer, size_t size, struct hub_slot_loan *out);

/* The same, with the slot that was returned longest ago: all slots cycle, and none is in the cache
 * of only one CPU. With slots of one size this is hub_slots_loan. */
int hub_slots_loan_cold(struct hub_slots *slots, uint32_t peer, size_t size,
                        struct hub_slot_loan *out);
bool hub_slots_has_cold(const struct hub_slots *slots);
void hub_slots_sent(struct hub_slots *slots, const struct hub_slot_loan *loan);
void hub_slots_drop(struct hub_slots *slots, uint32_t slot);

/* Return the offset of the payload area in a slot, and its bytes in the largest slots. */
uint32_t hub_slots_start(const struct hub_slots *slots);
size_t hub_slots_largest(const struct hub_slots *slots);

/* Says whether a loan would succeed: the last check before a sleep. */
bool hub_slots_ready(struct hub_slots *slots, uint32_t peer, size_t size);

/* Returns the best size in bytes for each of many messages, such that there are several slots of
 * it. */
size_t hub_slots_piece(const struct hub_slots *slots);

/* Says whether a slot may come back without a wake-up on the link. Then a waiter polls in
 * slices. */
bool hub_slots_shared(const struct hub_slots *slots);

/* Guest: says whether the host must be rung, so that it notices that this side has no free
 * slots. */
bool hub_slots_ask(const struct hub_slots *slots);

/* Guest: says whether no slot for `size` bytes is granted, so that none can come back either. */
bool hub_slots_bare(const struct hub_slots *slots, size_t size);

/* Host: hub_slots_endow grants an attaching guest its first slots: 0 or -ENOSPC. hub_slots_attend
 * grants a part of what the guest has asked for since, and returns the number of slots. */
int hub_slots_endow(struct hub_slots *slots, uint32_t peer);
uint32_t hub_slots_attend(struct hub_slots *slots, uint32_t peer);

/* Before a long sleep: returns slots that need not be held. */
void hub_slots_rest(struct hub_slots *slots);

/* Host: takes back all slots of several sizes that a guest had, after proof of its death, or if it
 * never came. */
void hub_slots_take_back(struct hub_slots *slots, uint32_t peer);

/* Counts: slots that could be lent now (not lent, or returned; with several sizes those in the
 * host's reserve or at the guest's hand), all slots, and claims of the other side that the records
 * contradicted and for which no peer could be blamed. */
void hub_slots_count(struct hub_slots *slots, struct hub_slot_counts *out);

/* The slots in which the other side sends. Under the receive token, except where noted. The struct
 * must not be moved. */
struct hub_slots_in {
    struct hub_slots *own; /* with several sizes, one set of records serves both directions */
    uint32_t peer;
    struct hub_slot_reader reader;
    uint32_t class_shift; /* bits of a slot below its class: 24; slots of one size: 32 */
    struct hub_a32 shown[HUB_CLASSES_MAX]; /* slots of each class whose long hold has begun */
    /* slots of each class whose long hold has ended; any thread */
    struct hub_a32 hidden[HUB_CLASSES_MAX];
    const struct hub_a32
        *most[HUB_CLASSES_MAX]; /* limit of both together; 0 for a class that does not exist */
    struct hub_a32 constant[HUB_CLASSES_MAX]; /* that limit, if it is constant */
};

/* `memory` is the other side's pool. */
int hub_slots_in_init(struct hub_slots_in *in, struct hub_slots *own,
                      const struct hub_geometry *geometry, uint8_t *memory, uint32_t peer);
void hub_slots_in_fini(struct hub_slots_in *in);

/* Checks a private copy of a descriptor; the slot is held until hub_slots_in_free. If `to` is not
 * NULL, the payload is copied there. RAPAHUB_EPROTOCOL with the rule. */
int hub_slots_in_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to);
int hub_slots_in_free(struct hub_slots_in *in, uint32_t slot); /* any thread */

/* Copies a part of the payload of a held slot. `part` is its descriptor with offset and length of
 * the part. Each byte must be copied only once. RAPAHUB_EPROTOCOL if the generation has changed
 * afterwards. */
int hub_slots_in_copy(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to);

/* Returns the payload's offset from a multiple of 64, assuming that its slot lies as in our own
 * layout. No field of the descriptor need be valid. */
uint32_t hub_slots_in_phase(const struct hub_slots_in *in, const struct hub_descriptor *descriptor);

/* Returns the class of a slot; 0 with slots of one size. The slot may not be checked yet, and its
 * class need not exist. */
static inline uint32_t hub_slots_in_class(const struct hub_slots_in *in, uint32_t slot)
{
    return (uint32_t)((uint64_t)slot >> in->class_shift);
}

/* hub_slots_in_may_hold says whether a slot may be held for long, such that the sender still has
 * half of its own. hub_slots_in_show then accepts it as hub_slots_in_take does: 0, with the
 * payload's address in *data and the slot in *out, or RAPAHUB_EPROTOCOL. hub_slots_in_hide ends the
 * long hold, before hub_slots_in_give_back frees the slot; any thread may call these two.
 * r[impl hub.slot.hold] */
static inline bool hub_slots_in_may_hold(const struct hub_slots_in *in, uint32_t slot)
{
    uint32_t c = hub_slots_in_class(in, slot);

    return c < HUB_CLASSES_MAX &&
           hub_load_relaxed(&in->shown[c]) - hub_load_relaxed(&in->hidden[c]) <
               hub_load_relaxed(in->most[c]);
}
int hub_slots_in_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                      struct hub_slot_held *out, const uint8_t **data);
void hub_slots_in_hide(struct hub_slots_in *in, uint32_t slot);
int hub_slots_in_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot);

/* Returns the words that change when a slot is returned. A peer that does not take part in waiting
 * may sleep on them. */
void hub_slots_in_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2]);

#endif

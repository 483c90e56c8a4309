/* SPDX-License-Identifier: Apache-2.0 */
/* slot_allocator: the host's slot allocator for slots of several sizes. It lends the host's slots
 * to guests, grants slots to guests, reads and returns the slots that they sent, and reclaims all
 * of them after a death.
 *
 * Private records decide about a slot; the contents of the segment are claims that are checked
 * against them. A slot whose record says "granted to P" belongs to P at every instant, wherever P
 * dies.
 */
#ifndef HUB_SHM_SLOT_ALLOCATOR_H
#define HUB_SHM_SLOT_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/slot_class.h"
#include "hub/shm/slot_growth.h"

enum hub_slot_allocator_state {
    HUB_SLOT_ALLOCATOR_RESERVE,                         /* in the reserve of its class */
    HUB_SLOT_ALLOCATOR_GRANTED,                         /* owned by a guest */
    HUB_SLOT_ALLOCATOR_LOANED = HUB_SLOT_RECORD_LOANED, /* this side is writing it */
    HUB_SLOT_ALLOCATOR_SENT = HUB_SLOT_RECORD_SENT      /* a guest has it */
};

struct hub_slot_allocator_record {
    uint32_t generation; /* counts our own uses */
    uint32_t seen;       /* generation accepted last from the guest that owns it */
    uint32_t next;       /* next slot in `deferred` */
    /* enum hub_bank_state; the writer of the slot changes LOANED to SENT without the lock; all else
     * happens under the lock */
    struct hub_a32 state;
    uint8_t peer;  /* the guest it is lent or granted to */
    bool accepted; /* `seen` is valid */
    bool held;     /* accepted, and not returned yet */
};

struct hub_slot_allocator_class {
    uint32_t *reserve; /* a stack: the slot used last is lent next */
    uint32_t in_reserve, total, granted_sum;
    uint32_t since;   /* slots lent since returned slots were last collected */
    uint32_t untaken; /* slots at the end of the first extent that have no pages yet */
    /* no new attempt to commit them before this time, as `not_before_ns` in `growth` */
    uint64_t no_room_before_ns;
    uint32_t lent[HUB_GUESTS_MAX + 1], granted[HUB_GUESTS_MAX + 1];
    /* slots to be granted to a guest that asked for more; 0: none */
    uint32_t goal[HUB_GUESTS_MAX + 1];
    /* slots of a guest that may be held for long; read without the lock */
    struct hub_a32 may_hold[HUB_GUESTS_MAX + 1];
};

/* The allocator. Any thread: it has a lock of its own, the last in the order of locks. */
struct hub_slot_allocator {
    struct hub_mutex lock;
    struct hub_slot_map map;
    uint32_t guests_max;
    bool shared; /* several guests push onto one stack, so a stray ref cannot be attributed */
    bool quota;  /* no guest may have more than half of the slots lent from a class */
    struct hub_slot_allocator_class *of GUARDED_BY(lock);
    struct hub_slot_near near GUARDED_BY(lock); /* the class of the last payload */
    /* slots whose push failed because others interfered; retried */
    uint32_t deferred GUARDED_BY(lock);
    uint64_t stray_refs GUARDED_BY(lock);
    struct hub_slot_growth growth GUARDED_BY(lock);
};

/* Makes an allocator with all slots in the reserve, all with pages. -ENOMEM. `fini` allows an
 * allocator that is only zeroed. */
int hub_slot_allocator_init(struct hub_slot_allocator *allocator,
                            const struct hub_geometry *geometry, uint8_t *segment, bool shared);
void hub_slot_allocator_fini(struct hub_slot_allocator *allocator);
void hub_slot_allocator_set_quota(struct hub_slot_allocator *allocator, bool quota);

/* Lets classes whose reserve is empty grow from now on; call it before any slot is handed out. A
 * guest is told by its doorbell; -1: not now. In a file, slots get pages only when they are needed
 * (slot_stock): -ENOSPC if there is no space for the first of them. */
int hub_slot_allocator_let_grow(struct hub_slot_allocator *allocator,
                                const struct hub_slot_growth_plan *plan);
void hub_slot_allocator_set_bell(struct hub_slot_allocator *allocator, int bell);

/* Lends a slot for `size` bytes to `peer`, from the smallest class that has one, or that can grow
 * if none has. Its generation is raised. Returns 0, -EAGAIN, or RAPAHUB_EPROTOCOL
 * (shm.varslot.freeing) if the guest pushed a slot that it did not have. */
int hub_slot_allocator_loan(struct hub_slot_allocator *allocator, uint32_t peer, size_t size,
                            struct hub_slot_loan *out);

/* The same, but returned slots are collected only when the reserve is empty, so that all slots
 * cycle. */
int hub_slot_allocator_loan_cold(struct hub_slot_allocator *allocator, uint32_t peer, size_t size,
                                 struct hub_slot_loan *out);
void hub_slot_allocator_drop(struct hub_slot_allocator *allocator, uint32_t ref);
bool hub_slot_allocator_ready(struct hub_slot_allocator *allocator, uint32_t peer, size_t size);

/* Checks a private copy of a descriptor from `peer`, and holds the slot until hub_slot_grants_free.
 * RAPAHUB_EPROTOCOL with shm.payload.slot, shm.slot.payload-offset, shm.varslot.ownership,
 * hub.slot.twice or shm.slot.generation. If `to` is not NULL, the payload is copied there. */
int hub_slot_allocator_accept(struct hub_slot_allocator *allocator, uint32_t peer,
                              const struct hub_descriptor *descriptor, void *to);

/* The same, but *data is the payload's address, and *out is for hub_slot_grants_give_back. */
int hub_slot_allocator_show(struct hub_slot_allocator *allocator, uint32_t peer,
                            const struct hub_descriptor *descriptor, struct hub_slot_held *out,
                            const uint8_t **data);

/* Counts over all classes: all slots; those in reserve, including pushed ones and those without
 * pages; those granted to guests. The others are lent. `stray` counts refs that guests pushed
 * without having them. */
struct hub_slot_counts {
    uint32_t total, free, granted;
    uint64_t stray;
};
void hub_slot_allocator_count(struct hub_slot_allocator *allocator, struct hub_slot_counts *out);

#endif

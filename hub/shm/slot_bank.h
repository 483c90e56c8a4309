/* SPDX-License-Identifier: Apache-2.0 */
/* slot_bank: the host's side of slots of several sizes: it lends its own to guests, grants slots to
 * guests, reads and gives back what they sent, takes all back behind a death.
 *
 * Private records decide what a slot is; what the segment says is a claim that is held to them. A
 * slot whose record says "granted to P" is P's at any instant, wherever P died. */
#ifndef HUB_SHM_SLOT_BANK_H
#define HUB_SHM_SLOT_BANK_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/slot_class.h"
#include "hub/shm/slot_growth.h"

enum hub_bank_state {
    HUB_BANK_RESERVE, /* in the reserve of its class */
    HUB_BANK_LOANED,  /* being written by us */
    HUB_BANK_SENT,    /* a guest has it */
    HUB_BANK_GRANTED  /* a guest's own */
};

struct hub_bank_record {
    uint32_t generation;  /* of our own use */
    uint32_t seen;        /* generation accepted last from the guest it is granted to */
    uint32_t next;        /* slot behind it in `deferred` */
    struct hub_a32 state; /* enum hub_bank_state; from LOANED who writes the slot leads to SENT, and
                             needs no lock for it; all else under the lock */
    uint8_t peer;         /* lent to, or granted to */
    bool accepted;        /* `seen` is one */
    bool held;            /* accepted, not given back yet */
};

struct hub_bank_class {
    uint32_t *reserve; /* a stack: the slot used last is lent next */
    uint32_t in_reserve, total, granted_sum;
    uint32_t since;             /* so many were lent since the last look at what came back */
    uint32_t untaken;           /* of the first extent: its last ones, which have no pages yet */
    uint64_t no_room_before_ns; /* for these: as `not_before_ns` in `growth` */
    uint32_t lent[HUB_GUESTS_MAX + 1], granted[HUB_GUESTS_MAX + 1];
    uint32_t goal[HUB_GUESTS_MAX + 1];           /* so many it shall have that has asked; else 0 */
    struct hub_a32 may_hold[HUB_GUESTS_MAX + 1]; /* of a guest's, for long; read without the lock */
};

/* Any thread: it has a lock of its own, the last in the order of locks. */
struct hub_slot_bank {
    struct hub_mutex lock;
    struct hub_slot_map map;
    uint32_t guests_max;
    bool shared; /* several guests push on one stack: a stray ref blames nobody */
    bool quota;  /* no guest may have more than half of what we lend of a class */
    struct hub_bank_class *of GUARDED_BY(lock);
    uint32_t near GUARDED_BY(lock);     /* the class of the last payload */
    uint32_t deferred GUARDED_BY(lock); /* slots whose push others spoiled; tried again */
    uint64_t stray_refs GUARDED_BY(lock);
    struct hub_slot_growth growth GUARDED_BY(lock);
};

/* All slots are in the reserve, and have their pages. -ENOMEM. `fini` accepts what was never
 * initialised but zeroed. */
int hub_slot_bank_init(struct hub_slot_bank *bank, const struct hub_geometry *geometry,
                       uint8_t *segment, bool shared);
void hub_slot_bank_fini(struct hub_slot_bank *bank);
void hub_slot_bank_set_quota(struct hub_slot_bank *bank, bool quota);

/* Before anybody has a slot. Classes whose reserve is empty grow from now on; what must be told to
 * a guest goes by its doorbell, -1: not now. Of a file no slot has pages before it is needed
 * (slot_stock): -ENOSPC where there is no room for the first of them. */
int hub_slot_bank_let_grow(struct hub_slot_bank *bank, const struct hub_slot_growth_plan *plan);
void hub_slot_bank_set_bell(struct hub_slot_bank *bank, int bell);

/* A slot of ours for `size` bytes to `peer`: of the smallest class with one, which grows where all
 * have none; its generation raised: 0, -EAGAIN, RAPAHUB_EPROTOCOL (shm.varslot.freeing) where the
 * guest pushed what it did not have.
 */
int hub_slot_bank_loan(struct hub_slot_bank *bank, uint32_t peer, size_t size,
                       struct hub_descriptor *descriptor);

/* The same; those that came back are looked for only when the reserve is empty, so all go round. */
int hub_slot_bank_loan_cold(struct hub_slot_bank *bank, uint32_t peer, size_t size,
                            struct hub_descriptor *descriptor);
void hub_slot_bank_sent(struct hub_slot_bank *bank, uint32_t ref);
void hub_slot_bank_drop(struct hub_slot_bank *bank, uint32_t ref);
bool hub_slot_bank_ready(struct hub_slot_bank *bank, uint32_t peer, size_t size);

/* A private copy of a descriptor from `peer`: checks it, and holds the slot until `free`:
 * RAPAHUB_EPROTOCOL with shm.payload.slot, shm.slot.payload-offset, shm.varslot.ownership,
 * hub.slot.twice or shm.slot.generation. With `to` its payload is copied there. */
int hub_slot_bank_accept(struct hub_slot_bank *bank, uint32_t peer,
                         const struct hub_descriptor *descriptor, void *to);

/* The same: where it lies, or NULL with *code. */
const uint8_t *hub_slot_bank_show(struct hub_slot_bank *bank, uint32_t peer,
                                  const struct hub_descriptor *descriptor, int *code);

/* Of all classes: slots; of these in reserve, pushed ones and those without pages included, and
 * granted to guests; the rest are lent. Refs that guests pushed without having them. */
struct hub_slot_counts {
    uint32_t total, free, granted;
    uint64_t stray;
};
void hub_slot_bank_count(struct hub_slot_bank *bank, struct hub_slot_counts *out);

#endif

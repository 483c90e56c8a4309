/* SPDX-License-Identifier: Apache-2.0 */
/* slot_purse: a guest's side of slots of several sizes: it pops slots it was granted, sends in
 * them, reads the host's and pushes them back. Only it pops its stacks; what it finds there is held
 * to private records. */
#ifndef HUB_SHM_SLOT_PURSE_H
#define HUB_SHM_SLOT_PURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/slot_arrivals.h"
#include "hub/shm/slot_class.h"

enum hub_purse_state {
    HUB_PURSE_AWAY,   /* in a stack, or not ours */
    HUB_PURSE_KEPT,   /* popped, not lent */
    HUB_PURSE_LOANED, /* being written by us */
    HUB_PURSE_SENT    /* the host has it, or has pushed it back */
};

struct hub_purse_record {
    uint32_t generation;  /* of our own use */
    uint32_t seen;        /* generation accepted last from the host */
    uint32_t next;        /* slot behind it in `kept` or `deferred` */
    struct hub_a32 state; /* enum hub_purse_state; from LOANED who writes the slot leads to SENT,
                             and needs no lock for it; all else under the lock */
    bool used;            /* `generation` is ours, not what stands in the slot */
    bool accepted;        /* `seen` is one */
    bool held;            /* accepted, not given back yet */
};

struct hub_purse_class {
    struct hub_peer_class *block; /* ours, in the segment */
    uint32_t kept;                /* slots that were popped and not sent */
    uint32_t share;               /* what is above it may go back */
    uint32_t granted;             /* as it stood at the last look */
    uint32_t returned;            /* given back, not counted by the host yet */
    bool asked;                   /* and not told since that there is no room */
    uint64_t vain_ns;             /* when it has been asked in vain for long enough; 0: not yet */
    uint64_t forget_ns;           /* who asks then asks anew */
};

/* Any thread: it has a lock of its own, the last in the order of locks. */
struct hub_slot_purse {
    struct hub_mutex lock;
    struct hub_slot_map map;
    uint32_t peer, guests_max;
    struct hub_purse_class *of GUARDED_BY(lock);
    uint32_t near GUARDED_BY(lock);     /* the class of the last payload */
    uint32_t deferred GUARDED_BY(lock); /* slots of the host whose push others spoiled */
    int file;                           /* of the segment, the caller's */
    struct hub_slot_arrivals arrivals;  /* extents that were sent and not met yet */
    void (*hear)(void *user);           /* reads the doorbell now, into them; or NULL */
    void *user;
};

/* Over a segment that is mapped, and whose file is open as long: -ENOMEM. `fini` accepts what was
 * never initialised but zeroed. */
int hub_slot_purse_init(struct hub_slot_purse *purse, const struct hub_geometry *geometry,
                        const struct hub_mapping *segment, uint32_t peer);
void hub_slot_purse_fini(struct hub_slot_purse *purse);

/* How to hear of memory that was sent: `hear` may be called by any thread, under the purse's lock.
 * Before other threads use the purse. */
void hub_slot_purse_listen(struct hub_slot_purse *purse, void (*hear)(void *user), void *user);

/* Have we been granted none for `size` bytes? Then none will come back either. Any thread, without
 * the lock. */
bool hub_slot_purse_bare(const struct hub_slot_purse *purse, size_t size);

/* A slot of ours for `size` bytes: of the smallest class that has one: 0, -EAGAIN where all have
 * run dry, which the host is told in the segment, -ENOSPC where it has been told for a second, has
 * looked, and granted not a single one, RAPAHUB_EPROTOCOL (shm.varslot.freelist) where a stack
 * holds what cannot be there, or (shm.varslot.extents) an extent is not where it must be. */
int hub_slot_purse_loan(struct hub_slot_purse *purse, size_t size,
                        struct hub_descriptor *descriptor);

/* The same; where none is kept all that came back are taken, of which the last ones are used last:
 * so all go round. */
int hub_slot_purse_loan_cold(struct hub_slot_purse *purse, size_t size,
                             struct hub_descriptor *descriptor);
void hub_slot_purse_sent(struct hub_slot_purse *purse, uint32_t ref);
void hub_slot_purse_drop(struct hub_slot_purse *purse, uint32_t ref);
bool hub_slot_purse_ready(struct hub_slot_purse *purse, size_t size);

/* As hub_slot_bank_accept and _free, for a slot of the host; RAPAHUB_EPROTOCOL also with
 * shm.varslot.extents. */
int hub_slot_purse_accept(struct hub_slot_purse *purse, const struct hub_descriptor *descriptor,
                          void *to);
const uint8_t *hub_slot_purse_show(struct hub_slot_purse *purse,
                                   const struct hub_descriptor *descriptor, int *code);
int hub_slot_purse_free(struct hub_slot_purse *purse, uint32_t ref);

/* Slots that are granted to us and not on their way. */
uint32_t hub_slot_purse_free_count(struct hub_slot_purse *purse);

/* Before a long sleep: what is above the first share goes back to the host. */
void hub_slot_purse_rest(struct hub_slot_purse *purse);

#endif

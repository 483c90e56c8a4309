/* SPDX-License-Identifier: Apache-2.0 */
/* slot_cache: a guest's slot cache, for slots of several sizes. It pops slots that the guest was
 * granted, sends in them, and reads the host's slots and pushes them back. It is the only popper of
 * its stacks, and checks the slots found there against private records. */
#ifndef HUB_SHM_SLOT_CACHE_H
#define HUB_SHM_SLOT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/slot_arrivals.h"
#include "hub/shm/slot_class.h"

enum hub_slot_cache_state {
    HUB_SLOT_CACHE_AWAY,                            /* in a stack, or not ours */
    HUB_SLOT_CACHE_KEPT,                            /* popped, not lent */
    HUB_SLOT_CACHE_LOANED = HUB_SLOT_RECORD_LOANED, /* this side is writing it */
    HUB_SLOT_CACHE_SENT = HUB_SLOT_RECORD_SENT      /* the host has it, or has pushed it back */
};

struct hub_slot_cache_record {
    uint32_t generation; /* counts our own uses */
    uint32_t seen;       /* generation accepted last from the host */
    uint32_t next;       /* next slot in `kept` or `deferred` */
    /* enum hub_purse_state; the writer of the slot changes LOANED to SENT without the lock; all
     * else happens under the lock */
    struct hub_a32 state;
    bool used;     /* `generation` is valid; otherwise the value in the slot counts */
    bool accepted; /* `seen` is valid */
    bool held;     /* accepted, and not returned yet */
};

struct hub_slot_cache_class {
    struct hub_peer_class *block; /* ours, in the segment */
    uint32_t kept;                /* slots that were popped and not sent */
    uint32_t share;               /* slots above this number may be returned */
    uint32_t granted;             /* value at the last check */
    uint32_t returned;            /* returned, but not yet counted by the host */
    bool asked;                   /* a request is open, and was not answered by "no space" */
    uint64_t vain_ns;   /* when the request will have been in vain for long enough; 0: not yet */
    uint64_t forget_ns; /* a request after this time counts as a new one */
};

/* The cache. Any thread: it has a lock of its own, the last in the order of locks. */
struct hub_slot_cache {
    struct hub_mutex lock;
    struct hub_slot_map map;
    uint32_t peer, guests_max;
    struct hub_slot_cache_class *of GUARDED_BY(lock);
    struct hub_slot_near near GUARDED_BY(lock); /* the class of the last payload */
    /* slots of the host whose push failed because others interfered */
    uint32_t deferred GUARDED_BY(lock);
    int file;                          /* the segment's file; it belongs to the caller */
    struct hub_slot_arrivals arrivals; /* extents that were received and not used yet */
    void (*hear)(void *user);          /* reads the doorbell now, into `arrivals`; or NULL */
    void *user;
};

/* Makes a cache over a mapped segment, whose file stays open as long. -ENOMEM. `fini` allows a
 * cache that is only zeroed. */
int hub_slot_cache_init(struct hub_slot_cache *cache, const struct hub_geometry *geometry,
                        const struct hub_mapping *segment, uint32_t peer);
void hub_slot_cache_fini(struct hub_slot_cache *cache);

/* Sets the function that receives added memory. Any thread may call `hear`, with the cache's lock
 * held. Set it before other threads use the cache. */
void hub_slot_cache_listen(struct hub_slot_cache *cache, void (*hear)(void *user), void *user);

/* Says whether no slot for `size` bytes is granted to us, so that none can come back either. Any
 * thread, without the lock. */
bool hub_slot_cache_bare(const struct hub_slot_cache *cache, size_t size);

/* Lends a slot for `size` bytes, from the smallest class that has one. Returns 0; -EAGAIN if there
 * is none, which the host is told in the segment; -ENOSPC if the host has known that for a second,
 * has looked, and has granted none; RAPAHUB_EPROTOCOL (shm.varslot.freelist) if a stack holds an
 * impossible slot, or (shm.varslot.extents) if an extent is not in its place. */
int hub_slot_cache_loan(struct hub_slot_cache *cache, size_t size, struct hub_slot_loan *out);

/* The same, but if no slot is cached all returned ones are popped, and those returned last are used
 * last, so that all slots cycle. */
int hub_slot_cache_loan_cold(struct hub_slot_cache *cache, size_t size, struct hub_slot_loan *out);
void hub_slot_cache_drop(struct hub_slot_cache *cache, uint32_t ref);
bool hub_slot_cache_ready(struct hub_slot_cache *cache, size_t size);

/* Like hub_slot_allocator_accept, hub_slot_allocator_show and hub_slot_grants_free, for the host's
 * slots. RAPAHUB_EPROTOCOL also with shm.varslot.extents. */
int hub_slot_cache_accept(struct hub_slot_cache *cache, const struct hub_descriptor *descriptor,
                          void *to);
int hub_slot_cache_show(struct hub_slot_cache *cache, const struct hub_descriptor *descriptor,
                        struct hub_slot_held *out, const uint8_t **data);
int hub_slot_cache_free(struct hub_slot_cache *cache, uint32_t ref);

/* Like hub_slot_cache_free, for a slot that hub_slot_cache_show has shown. */
int hub_slot_cache_give_back(struct hub_slot_cache *cache, const struct hub_slot_held *slot);

/* Returns the number of slots that are granted to us and not in use. */
uint32_t hub_slot_cache_free_count(struct hub_slot_cache *cache);

/* Before a long sleep: returns the slots beyond the first share to the host. */
void hub_slot_cache_rest(struct hub_slot_cache *cache);

#endif

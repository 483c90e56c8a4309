/* SPDX-License-Identifier: Apache-2.0 */
/* slot_pool: payload slots of one size.
 *
 * A pool has one allocator process, whose private records decide; the bitmap in the segment is how
 * the other side gives slots back. `struct hub_slot_pool` is the allocator's, `struct
 * hub_slot_reader` the other side's. Guarantees: a slot is never lent twice; a bit set by a peer
 * for a slot it does not hold is a violation (private group) or ignored and counted (shared). */
#ifndef HUB_SHM_SLOT_POOL_H
#define HUB_SHM_SLOT_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/geometry.h"

enum hub_slot_state {
    HUB_SLOT_FREE,   /* its bit is set */
    HUB_SLOT_CACHED, /* free, its bit taken */
    HUB_SLOT_LOANED, /* being written */
    HUB_SLOT_SENT    /* the other side has it */
};

struct hub_slot_record {
    uint32_t generation;
    uint8_t state; /* enum hub_slot_state */
    uint8_t peer;  /* host's pool: who has it; guest's: 0 */
};

/* The allocator's side. Any thread: it has a lock of its own, the last in the order of locks. */
struct hub_slot_pool {
    struct hub_mutex lock;
    struct hub_a64 *bitmap;
    uint8_t *slots;
    uint32_t slot_size, count;
    bool shared;       /* several guests give back into it: a stray bit blames nobody */
    uint32_t peer_max; /* slots one peer may have at once */
    uint32_t lent[HUB_GUESTS_MAX + 1] GUARDED_BY(lock);
    struct hub_slot_record *records GUARDED_BY(lock);
    uint64_t *cache GUARDED_BY(lock); /* a bit per slot in state CACHED */
    uint64_t *free GUARDED_BY(lock);  /* a bit per slot in state FREE */
    uint32_t cached GUARDED_BY(lock); /* bits in cache */
    uint32_t lowest GUARDED_BY(lock); /* no word of cache below this one has a bit */
    uint64_t stray_bits GUARDED_BY(lock);
};

/* `memory` is the bitmap's first byte in the segment. Generations start as they stand in the slots,
 * which are read here and never again. -ENOMEM. `fini` accepts what was never initialised but
 * zeroed. */
int hub_slot_pool_init(struct hub_slot_pool *pool, const struct hub_geometry *geometry,
                       uint8_t *memory, bool shared);
void hub_slot_pool_fini(struct hub_slot_pool *pool);

/* How many slots one peer may hold, for hub.slot.quota; at least 1. Default: all. */
void hub_slot_pool_set_quota(struct hub_slot_pool *pool, uint32_t peer_max);

/* The lowest free slot, its generation raised and written: 0, -EAGAIN (without a diagnosis) where
 * there is none or `peer` has as many as it may, RAPAHUB_EPROTOCOL where a bit shows that the peer
 * broke a rule: shm.slot.free, shm.slot.pool-layout. r[impl shm.slot.allocate]
 * r[impl hub.slot.cache] r[impl hub.slot.claim] r[impl hub.slot.quota] */
int hub_slot_pool_loan(struct hub_slot_pool *pool, uint32_t peer, uint32_t *slot,
                       uint32_t *generation);

/* Is there one, or would a harvest find one? The look before a sleep; takes nothing. */
bool hub_slot_pool_ready(struct hub_slot_pool *pool, uint32_t peer);

/* LOANED to SENT; and LOANED back to CACHED where nothing was sent. */
void hub_slot_pool_sent(struct hub_slot_pool *pool, uint32_t slot);
void hub_slot_pool_drop(struct hub_slot_pool *pool, uint32_t slot);

/* Where the payload of a slot begins, 4 bytes behind its start; slot_size - 4 bytes. */
uint8_t *hub_slot_pool_payload(const struct hub_slot_pool *pool, uint32_t slot);

/* Makes cached slots free again, so that an idle link shows all bits set. A bit that is set already
 * is counted as stray: it changes nothing. */
void hub_slot_pool_return_cache(struct hub_slot_pool *pool);

/* After proof of a peer's death: every slot sent to it comes back, generation raised: how many it
 * had not given back itself. Slots loaned for it stay with the threads that have them. */
uint32_t hub_slot_pool_reclaim(struct hub_slot_pool *pool, uint32_t peer);

/* Slots that are not lent, or were given back. */
uint32_t hub_slot_pool_free_count(struct hub_slot_pool *pool);

/* Claims of the other side that the records denied, and that blamed nobody. */
uint64_t hub_slot_pool_stray_bits(struct hub_slot_pool *pool);

/* What the receiver remembers of a slot of the other's pool. */
struct hub_slot_seen {
    uint32_t generation; /* accepted last */
    bool accepted;       /* there was one */
    struct hub_a32 held; /* accepted, not given back yet; any thread may give it back */
};

/* The receiver's side of the other's pool. Under the receive token. */
struct hub_slot_reader {
    struct hub_a64 *bitmap;
    const uint8_t *slots;
    uint32_t slot_size, count;
    struct hub_slot_seen *seen; /* per slot */
};

int hub_slot_reader_init(struct hub_slot_reader *reader, const struct hub_geometry *geometry,
                         uint8_t *memory);
void hub_slot_reader_fini(struct hub_slot_reader *reader);

/* Copies the payload that a private copy of a descriptor points to; from then on the slot is held
 * until hub_slot_reader_free: 0, or RAPAHUB_EPROTOCOL with rule
 * shm.payload.slot, shm.slot.payload-offset, hub.slot.twice or shm.slot.generation. The generation
 * is looked at before and after the copy. r[impl shm.slot.generation] r[impl hub.slot.twice] */
int hub_slot_reader_copy(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor,
                         void *to);

/* A part of the payload of a slot that is held, and the second look at the generation. */
int hub_slot_reader_copy_part(const struct hub_slot_reader *reader,
                              const struct hub_descriptor *part, void *to);

/* The same checks without a copy, for a message whose payload nobody wants, or in parts. */
int hub_slot_reader_check(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor);

/* Where the payload of a slot that is held begins. */
const uint8_t *hub_slot_reader_payload(const struct hub_slot_reader *reader,
                                       const struct hub_descriptor *descriptor);

/* Gives back a slot that is held, on any thread: 0, or RAPAHUB_EPROTOCOL (shm.slot.free) where its
 * bit was set already. r[impl shm.slot.free] */
int hub_slot_reader_free(struct hub_slot_reader *reader, uint32_t slot);

/* The half of the bitmap word with its bit: what a peer that takes no part sleeps on. */
struct hub_a32 *hub_slot_reader_word(const struct hub_slot_reader *reader, uint32_t slot);

/* Sets the bits of a new pool and touches no slot. r[impl shm.slot.pool-layout] */
void hub_slot_pool_format(const struct hub_geometry *geometry, uint8_t *memory);

/* After proof of the death of the pool's owner: every generation raised, all bits set.
 * r[impl shm.crash.recovery] */
void hub_slot_pool_reset(const struct hub_geometry *geometry, uint8_t *memory);

#endif

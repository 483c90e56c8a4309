/* SPDX-License-Identifier: Apache-2.0 */
/* slot_pool: payload slots of one size.
 *
 * A pool has one allocating process, whose private records decide. The bitmap in the segment is the
 * way by which the other side returns slots. `struct hub_slot_pool` is for the allocator, `struct
 * hub_slot_reader` for the other side. Guarantees: a slot is never lent twice; a bit that a peer
 * sets for a slot it does not hold is a violation (private group), or ignored and counted (shared
 * group).
 */
#ifndef HUB_SHM_SLOT_POOL_H
#define HUB_SHM_SLOT_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/geometry.h"

enum hub_slot_state {
    HUB_SLOT_FREE,   /* its bit is set */
    HUB_SLOT_CACHED, /* free, its bit cleared */
    HUB_SLOT_LOANED, /* being written */
    HUB_SLOT_SENT    /* the other side has it */
};

struct hub_slot_record {
    uint32_t generation;
    uint8_t state; /* enum hub_slot_state */
    uint8_t peer;  /* in the host's pool: the peer that has it; in a guest's: 0 */
};

/* The allocator's side. Any thread: it has a lock of its own, the last in the order of locks. */
struct hub_slot_pool {
    struct hub_mutex lock;
    struct hub_a64 *bitmap;
    uint8_t *slots;
    uint32_t slot_size, count;
    bool shared;       /* several guests return slots to it, so a stray bit cannot be attributed */
    uint32_t peer_max; /* slots that one peer may have at once */
    uint32_t lent[HUB_GUESTS_MAX + 1] GUARDED_BY(lock);
    struct hub_slot_record *records GUARDED_BY(lock);
    uint64_t *cache GUARDED_BY(lock); /* a bit for each slot in state CACHED */
    uint64_t *free GUARDED_BY(lock);  /* a bit for each slot in state FREE */
    uint32_t cached GUARDED_BY(lock); /* bits in cache */
    uint32_t lowest GUARDED_BY(lock); /* no word of cache below this one has a bit */
    uint64_t stray_bits GUARDED_BY(lock);
};

/* `memory` is the first byte of the bitmap in the segment. The generations are read from the slots
 * here, and never again. -ENOMEM. `fini` allows a pool that is only zeroed. */
int hub_slot_pool_init(struct hub_slot_pool *pool, const struct hub_geometry *geometry,
                       uint8_t *memory, bool shared);
void hub_slot_pool_fini(struct hub_slot_pool *pool);

/* Sets the number of slots that one peer may hold, for hub.slot.quota; at least 1. Default: all. */
void hub_slot_pool_set_quota(struct hub_slot_pool *pool, uint32_t peer_max);

/* Lends the lowest free slot, after raising and writing its generation. Returns 0; -EAGAIN, without
 * a diagnosis, if there is none or `peer` has as many as it may; RAPAHUB_EPROTOCOL if a bit shows
 * that the peer broke a rule: shm.slot.free, shm.slot.pool-layout. r[impl shm.slot.allocate]
 * r[impl hub.slot.cache] r[impl hub.slot.claim] r[impl hub.slot.quota] */
int hub_slot_pool_loan(struct hub_slot_pool *pool, uint32_t peer, uint32_t *slot,
                       uint32_t *generation);

/* Says whether there is a slot, or a harvest would find one. The last check before a sleep; changes
 * nothing. */
bool hub_slot_pool_ready(struct hub_slot_pool *pool, uint32_t peer);

/* Change LOANED to SENT, and LOANED back to CACHED if nothing was sent. */
void hub_slot_pool_sent(struct hub_slot_pool *pool, uint32_t slot);
void hub_slot_pool_drop(struct hub_slot_pool *pool, uint32_t slot);

/* Returns the start of a slot's payload, 4 bytes after the slot's start; it has slot_size - 4
 * bytes. */
uint8_t *hub_slot_pool_payload(const struct hub_slot_pool *pool, uint32_t slot);

/* Makes cached slots free again, so that an idle link has all bits set. A bit that is already set
 * is counted as stray and changes nothing. */
void hub_slot_pool_return_cache(struct hub_slot_pool *pool);

/* After proof of a peer's death: takes back every slot sent to it, with its generation raised.
 * Returns the number that the peer had not returned itself. Slots loaned for it stay with the
 * threads that have them. */
uint32_t hub_slot_pool_reclaim(struct hub_slot_pool *pool, uint32_t peer);

/* Returns the number of slots that are not lent, or were returned. */
uint32_t hub_slot_pool_free_count(struct hub_slot_pool *pool);

/* Returns the number of claims of the other side that the records contradicted, and for which no
 * peer could be blamed. */
uint64_t hub_slot_pool_stray_bits(struct hub_slot_pool *pool);

/* The receiver's record of a slot in the other side's pool. */
struct hub_slot_seen {
    uint32_t generation; /* accepted last */
    bool accepted;       /* `generation` is valid */
    struct hub_a32 held; /* accepted and not returned; any thread may return it */
};

/* The receiver's view of the other side's pool. Under the receive token. */
struct hub_slot_reader {
    struct hub_a64 *bitmap;
    const uint8_t *slots;
    uint32_t slot_size, count;
    struct hub_slot_seen *seen; /* one for each slot */
};

int hub_slot_reader_init(struct hub_slot_reader *reader, const struct hub_geometry *geometry,
                         uint8_t *memory);
void hub_slot_reader_fini(struct hub_slot_reader *reader);

/* Copies the payload that a private copy of a descriptor refers to; the slot is then held until
 * hub_slot_reader_free. Returns 0, or RAPAHUB_EPROTOCOL with rule shm.payload.slot,
 * shm.slot.payload-offset, hub.slot.twice or shm.slot.generation. The generation is checked before
 * and after the copy. r[impl shm.slot.generation] r[impl hub.slot.twice] */
int hub_slot_reader_copy(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor,
                         void *to);

/* Copies a part of the payload of a held slot, and checks the generation again. */
int hub_slot_reader_copy_part(const struct hub_slot_reader *reader,
                              const struct hub_descriptor *part, void *to);

/* Makes the same checks without a copy, for a payload that is not wanted, or is copied in parts. */
int hub_slot_reader_check(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor);

/* Returns the start of the payload of a held slot. */
const uint8_t *hub_slot_reader_payload(const struct hub_slot_reader *reader,
                                       const struct hub_descriptor *descriptor);

/* Returns a held slot to the other side. Any thread. 0, or RAPAHUB_EPROTOCOL (shm.slot.free) if its
 * bit was already set. r[impl shm.slot.free] */
int hub_slot_reader_free(struct hub_slot_reader *reader, uint32_t slot);

/* Returns the half of the bitmap word with the slot's bit: a peer that does not take part in
 * waiting sleeps on it. */
struct hub_a32 *hub_slot_reader_word(const struct hub_slot_reader *reader, uint32_t slot);

/* Sets the bits of a new pool, without touching the slots. r[impl shm.slot.pool-layout] */
void hub_slot_pool_format(const struct hub_geometry *geometry, uint8_t *memory);

/* After proof of the death of the pool's owner: raises every generation and sets all bits.
 * r[impl shm.crash.recovery] */
void hub_slot_pool_reset(const struct hub_geometry *geometry, uint8_t *memory);

#endif

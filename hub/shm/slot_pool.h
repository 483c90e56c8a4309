/* SPDX-License-Identifier: Apache-2.0 */
/* slot_pool: payload slots of one size.
 *
 * A pool has one allocator process, whose private records decide; the bitmap in the segment is how
 * the other side gives slots back. `struct hub_slot_pool` is the allocator's, `struct
 * hub_slot_reader` the other side's. Guarantees: a slot is never lent twice; a bit set by a peer for
 * a slot it does not hold is a violation (private group) or ignored and counted (shared). */
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
    uint32_t cached GUARDED_BY(lock); /* records in state CACHED */
    uint64_t stray_bits GUARDED_BY(lock);
};

/* `pool` is the bitmap's first byte in the segment. Generations start as they stand in the slots.
 * -ENOMEM. `fini` accepts what was never initialised but zeroed. */
int hub_slot_pool_init(struct hub_slot_pool *pool, const struct hub_geometry *geometry,
                       uint8_t *memory, bool shared);
void hub_slot_pool_fini(struct hub_slot_pool *pool);

/* How many slots one peer may hold, for hub.slot.quota; at least 1. Default: all. */
void hub_slot_pool_set_quota(struct hub_slot_pool *pool, uint32_t peer_max);

/* The lowest free slot, its generation raised and written: 0, -EAGAIN where there is none,
 * RAPAHUB_EPROTOCOL where a bit shows that the peer broke a rule. r[impl shm.slot.allocate]
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

/* Makes cached slots free again, so that an idle link shows all bits set. */
void hub_slot_pool_return_cache(struct hub_slot_pool *pool);

/* After proof of a peer's death: every slot it had comes back, generation raised. How many. */
uint32_t hub_slot_pool_reclaim(struct hub_slot_pool *pool, uint32_t peer);

/* Slots that are not lent. */
uint32_t hub_slot_pool_free_count(struct hub_slot_pool *pool);

/* The receiver's side of the other's pool. Under the receive token. */
struct hub_slot_reader {
    struct hub_a64 *bitmap;
    const uint8_t *slots;
    uint32_t slot_size, count;
    uint32_t *accepted; /* generation accepted last, per slot */
};

int hub_slot_reader_init(struct hub_slot_reader *reader, const struct hub_geometry *geometry,
                         uint8_t *memory);
void hub_slot_reader_fini(struct hub_slot_reader *reader);

/* Copies the payload a checked-in descriptor copy points to: 0, or RAPAHUB_EPROTOCOL with rule
 * shm.payload.slot, shm.slot.payload-offset, hub.slot.twice or shm.slot.generation. The generation
 * is looked at before and after the copy. r[impl shm.slot.generation] r[impl hub.slot.twice] */
int hub_slot_reader_copy(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor,
                         void *to);

/* The same checks without a copy, for a message whose payload nobody wants. */
int hub_slot_reader_check(struct hub_slot_reader *reader, const struct hub_descriptor *descriptor);

/* Gives the slot back: 0, or RAPAHUB_EPROTOCOL (shm.slot.free) where it was free already.
 * r[impl shm.slot.free] */
int hub_slot_reader_free(struct hub_slot_reader *reader, uint32_t slot);

/* After proof of the death of the pool's owner: every generation raised, all bits set.
 * r[impl shm.crash.recovery] */
void hub_slot_pool_reset(const struct hub_geometry *geometry, uint8_t *memory);

#endif

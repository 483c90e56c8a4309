/* SPDX-License-Identifier: Apache-2.0 */
/* buffer_cache: a free list: pieces of memory of one size that one thread at a time takes and any
 * thread returns, without a lock. It keeps a few. */
#ifndef HUB_CALL_BUFFER_CACHE_H
#define HUB_CALL_BUFFER_CACHE_H

#include <stdbool.h>

#include "hub/base/atomic.h"

#define HUB_BUFFER_CACHE 64 /* a power of two: as many requests under way allocate nothing */

struct hub_buffer_cache {
    struct hub_a64 places[HUB_BUFFER_CACHE]; /* 0: empty */
    struct hub_a32 put;                      /* index of the next piece to put */
    uint32_t taken;                          /* index of the next piece to take; the taker's */
};

/* Returns a piece, or NULL. Only one thread may call it at a time. */
void *hub_buffer_cache_get(struct hub_buffer_cache *buffers);

/* Keeps a piece. False if it is not kept: the caller must free it. Any thread. */
bool hub_buffer_cache_give(struct hub_buffer_cache *buffers, void *piece);

/* Frees all pieces. */
void hub_buffer_cache_fini(struct hub_buffer_cache *buffers);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spares: pieces of memory of one size that one thread at a time takes and any thread gives back,
 * without a lock. It keeps a few. */
#ifndef HUB_CALL_SPARES_H
#define HUB_CALL_SPARES_H

#include <stdbool.h>

#include "hub/base/atomic.h"

#define HUB_SPARES 64 /* a power of two: as many requests under way allocate nothing */

struct hub_spares {
    struct hub_a64 places[HUB_SPARES]; /* 0: empty */
    struct hub_a32 put;                /* where the next one is put */
    uint32_t taken;                    /* where one is taken next; the taker's */
};

/* One that was given back, or NULL. By one thread at a time. */
void *hub_spares_take(struct hub_spares *spares);

/* False where it is not kept: it is the caller's, to be freed. Any thread. */
bool hub_spares_give(struct hub_spares *spares, void *piece);

/* Frees them. */
void hub_spares_fini(struct hub_spares *spares);

#endif

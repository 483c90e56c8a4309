/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/buffer_cache.h"

#include <stdlib.h>

static struct hub_a64 *place(struct hub_buffer_cache *spares, uint32_t at)
{
    return &spares->places[at & (HUB_BUFFER_CACHE - 1)];
}

void *hub_buffer_cache_get(struct hub_buffer_cache *spares)
{
    struct hub_a64 *from = place(spares, spares->taken);
    uint64_t piece = hub_observe64(from);

    if (piece == 0)
        return NULL;
    hub_publish64(from, 0);
    spares->taken++;
    return (void *)(uintptr_t)piece;
}

/* If two threads are at one place, one of them keeps its piece. */
bool hub_buffer_cache_give(struct hub_buffer_cache *spares, void *piece)
{
    uint32_t put = hub_load_relaxed(&spares->put);

    if (!hub_claim64(place(spares, put), 0, (uintptr_t)piece))
        return false;
    hub_store_relaxed(&spares->put, put + 1);
    return true;
}

void hub_buffer_cache_fini(struct hub_buffer_cache *spares)
{
    for (uint32_t i = 0; i < HUB_BUFFER_CACHE; i++)
        free((void *)(uintptr_t)hub_load_relaxed64(place(spares, i)));
    *spares = (struct hub_buffer_cache){0};
}

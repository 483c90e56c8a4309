/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/buffer_cache.h"

#include <stdlib.h>

static struct hub_a64 *place(struct hub_buffer_cache *buffers, uint32_t at)
{
    return &buffers->places[at & (HUB_BUFFER_CACHE - 1)];
}

void *hub_buffer_cache_get(struct hub_buffer_cache *buffers)
{
    struct hub_a64 *from = place(buffers, buffers->taken);
    uint64_t piece = hub_observe64(from);

    if (piece == 0)
        return NULL;
    hub_publish64(from, 0);
    buffers->taken++;
    return (void *)(uintptr_t)piece;
}

/* If two threads are at one place, one of them keeps its piece. */
bool hub_buffer_cache_give(struct hub_buffer_cache *buffers, void *piece)
{
    uint32_t put = hub_load_relaxed(&buffers->put);

    if (!hub_claim64(place(buffers, put), 0, (uintptr_t)piece))
        return false;
    hub_store_relaxed(&buffers->put, put + 1);
    return true;
}

void hub_buffer_cache_fini(struct hub_buffer_cache *buffers)
{
    for (uint32_t i = 0; i < HUB_BUFFER_CACHE; i++)
        free((void *)(uintptr_t)hub_load_relaxed64(place(buffers, i)));
    *buffers = (struct hub_buffer_cache){0};
}

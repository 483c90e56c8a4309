/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/spares.h"

#include <stdlib.h>

static struct hub_a64 *place(struct hub_spares *spares, uint32_t at)
{
    return &spares->places[at & (HUB_SPARES - 1)];
}

void *hub_spares_take(struct hub_spares *spares)
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
bool hub_spares_give(struct hub_spares *spares, void *piece)
{
    uint32_t put = hub_peek(&spares->put);

    if (!hub_claim64(place(spares, put), 0, (uintptr_t)piece))
        return false;
    hub_note(&spares->put, put + 1);
    return true;
}

void hub_spares_fini(struct hub_spares *spares)
{
    for (uint32_t i = 0; i < HUB_SPARES; i++)
        free((void *)(uintptr_t)hub_peek64(place(spares, i)));
    *spares = (struct hub_spares){0};
}

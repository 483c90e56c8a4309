/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/mpsc.h"

#include <inttypes.h>

#include "hub/bus/region_lease.h"
#include "hub/bus/spsc.h"

static int refuse(uint64_t tail, uint64_t word)
{
    return rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                        "the cell of position %" PRIu64 " has the state %" PRIx64
                        ", which the protocol does not allow",
                        tail, word);
}

/* The cell is still that of the lap before. */
static bool is_of_last_lap(const struct hub_ring_view *view, uint64_t tail, uint64_t word)
{
    enum hub_cell_tag tag = hub_cell_tag(word);

    return hub_cell_position(word) + view->mask + 1 == tail &&
           (tag == HUB_CELL_FREE || tag == HUB_CELL_PUBLISHED ||
            (tag == HUB_CELL_POISONED && view->poison));
}

/* The cell does not wait for this position: the ring is full, or another producer was faster. */
static int judge(const struct hub_ring_view *view, uint64_t *tail, uint64_t word)
{
    uint64_t now = hub_observe64(&view->ring->tail);

    if (word < hub_cell_free(*tail))
        return is_of_last_lap(view, *tail, word) ? RAPAHUB_EFULL : refuse(*tail, word);
    if (now == *tail)
        return refuse(*tail, word);
    *tail = now;
    return 0;
}

/* The intent is stored before each try, so that it covers the claim from its first moment on. */
static int claim(const struct hub_ring_view *view, struct hub_a64 *intent, uint64_t *tail)
{
    *tail = hub_observe64(&view->ring->tail);
    for (;;) {
        uint64_t word = hub_observe64(&hub_ring_view_cell(view, *tail)->state);
        int r;

        if (*tail > HUB_CELL_POSITION_MAX)
            return rapahub_fail(RAPAHUB_ERETIRED, "region.cell", "the positions are used up");
        if (word == hub_cell_free(*tail)) {
            if (intent)
                hub_publish64(intent, hub_region_lease_intend(*tail));
            if (hub_claim64(&view->ring->tail, *tail, *tail + 1))
                return 0;
            *tail = hub_observe64(&view->ring->tail);
            continue;
        }
        r = judge(view, tail, word);
        if (r < 0)
            return r;
    }
}

int hub_mpsc_push(const struct hub_ring_view *view, struct hub_a64 *intent, const void *data,
                  size_t size, uint32_t producer)
{
    uint64_t tail;
    int r = claim(view, intent, &tail);

    if (r == 0)
        hub_spsc_fill(view, tail, data, size, producer);
    if (intent)
        hub_publish64(intent, 0);
    return r;
}

bool hub_mpsc_is_full(const struct hub_ring_view *view)
{
    return hub_spsc_is_full(view, hub_observe64(&view->ring->tail));
}

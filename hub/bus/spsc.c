/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/spsc.h"

#include <inttypes.h>
#include <string.h>

static int refuse(uint64_t position, uint64_t word)
{
    return rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                        "the cell of position %" PRIu64 " has the state %" PRIx64
                        ", which the protocol does not allow",
                        position, word);
}

void hub_spsc_fill(const struct hub_ring_view *view, uint64_t position, const void *data,
                   size_t size, uint32_t producer)
{
    struct hub_region_cell *cell = hub_ring_view_cell(view, position);

    hub_store_relaxed(&cell->len, (uint32_t)size);
    hub_store_relaxed(&cell->flags, producer << 16);
    if (size > 0)
        memcpy(cell->payload, data, size);
    hub_publish64(&cell->state, hub_cell_published(position));
}

/* Says whether the next position of the only producer may be filled. */
static int check_room(const struct hub_ring_view *view, uint64_t tail)
{
    uint64_t word = hub_observe64(&hub_ring_view_cell(view, tail)->state);
    uint64_t lap = (uint64_t)view->mask + 1;

    if (word != hub_cell_free(tail))
        return tail >= lap && word == hub_cell_published(tail - lap) ? RAPAHUB_EFULL
                                                                     : refuse(tail, word);
    if (tail > HUB_CELL_POSITION_MAX)
        return rapahub_fail(RAPAHUB_ERETIRED, "region.cell", "the positions are used up");
    return 0;
}

int hub_spsc_push(const struct hub_ring_view *view, uint64_t tail, const void *data, size_t size,
                  uint32_t producer)
{
    int r = check_room(view, tail);

    if (r < 0)
        return r;
    hub_spsc_fill(view, tail, data, size, producer);
    hub_store_relaxed64(&view->ring->tail, tail + 1);
    return 0;
}

int hub_spsc_forward(const struct hub_ring_view *view, uint64_t tail,
                     const struct rapahub_message *message)
{
    struct hub_region_cell *cell = hub_ring_view_cell(view, tail);
    uint64_t source = message->position + 1;
    size_t before = view->routed ? HUB_CELL_SOURCE : 0;
    int r = check_room(view, tail);

    if (r < 0)
        return r;
    hub_store_relaxed(&cell->len, (uint32_t)(message->size + before));
    hub_store_relaxed(&cell->flags, message->producer << 16 | (view->routed ? HUB_CELL_ROUTED : 0));
    if (view->routed)
        memcpy(cell->payload, &source, sizeof source);
    if (message->size > 0)
        memcpy(cell->payload + before, message->data, message->size);
    hub_publish64(&cell->state, hub_cell_published(tail));
    hub_store_relaxed64(&view->ring->tail, tail + 1);
    return 0;
}

/* The length is copied once; only the copy is checked and used. */
static enum hub_spsc_cell take_message(const struct hub_ring_view *view, uint64_t head,
                                       struct rapahub_message *out)
{
    const struct hub_region_cell *cell = hub_ring_view_cell(view, head);
    uint32_t size = hub_load_relaxed(&cell->len), flags = hub_load_relaxed(&cell->flags);
    uint32_t before = view->routed ? HUB_CELL_SOURCE : 0;

    if (size > view->cell_bytes - HUB_CELL_OVERHEAD || size < before) {
        (void)rapahub_fail(RAPAHUB_ECORRUPT, "region.cell",
                           "the message at position %" PRIu64 " claims %" PRIu32 " bytes", head,
                           size);
        return HUB_SPSC_CORRUPT;
    }
    *out = (struct rapahub_message){.data = cell->payload + before,
                                    .size = size - before,
                                    .position = head,
                                    .producer = flags >> 16};
    if (view->routed)
        out->position = hub_atomic_peek_bytes(cell->payload) - 1;
    return HUB_SPSC_MESSAGE;
}

enum hub_spsc_cell hub_spsc_look(const struct hub_ring_view *view, uint64_t head,
                                 struct rapahub_message *out)
{
    uint64_t word = hub_observe64(&hub_ring_view_cell(view, head)->state);

    if (word == hub_cell_free(head))
        return HUB_SPSC_EMPTY;
    if (word == hub_cell_published(head))
        return take_message(view, head, out);
    if (view->poison && word == hub_cell_poisoned(head))
        return HUB_SPSC_POISONED;
    (void)refuse(head, word);
    return HUB_SPSC_CORRUPT;
}

void hub_spsc_free(const struct hub_ring_view *view, uint64_t head)
{
    hub_publish64(&hub_ring_view_cell(view, head)->state, hub_cell_free(head + view->mask + 1));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/sequencer/sequencer_view.h"

struct hub_sequencer_view hub_sequencer_view_at(uint8_t *data, uint32_t body_off,
                                                const struct hub_sequencer_shape *shape)
{
    return (struct hub_sequencer_view){.body = (void *)(data + body_off),
                                       .gates = (void *)(data + shape->gates_off),
                                       .avail = shape->avail_off ? (void *)(data + shape->avail_off)
                                                                 : NULL,
                                       .user = shape->user_off ? data + shape->user_off : NULL,
                                       .ring_size = shape->ring_size,
                                       .stage_count = shape->stage_count,
                                       .user_bytes = shape->user_bytes,
                                       .stages = shape->stages};
}

void hub_sequencer_view_fill(const struct hub_sequencer_view *view,
                             const struct hub_sequencer_shape *shape)
{
    struct hub_region_sequencer *body = view->body;

    body->ring_size = shape->ring_size;
    body->gate_count = shape->stage_count;
    body->gates_off = shape->gates_off;
    body->avail_off = shape->avail_off;
    body->user_off = shape->user_off;
    body->user_bytes = shape->user_bytes;
    for (uint32_t i = 0; i < shape->stage_count; i++) {
        view->gates[i].after = shape->stages[i].after;
        view->gates[i].on_death = shape->stages[i].on_death;
        view->gates[i].freeze_ns = shape->stages[i].freeze_ns;
    }
}

static void empty_gate(struct hub_region_stage_gate *gate)
{
    hub_store_relaxed64(&gate->seq, 0);
    hub_store_relaxed64(&gate->dead_at, 0);
    hub_store_relaxed64(&gate->deadline_ns, 0);
    hub_store_relaxed64(&gate->gap_from, 0);
    hub_store_relaxed(&gate->evictions, 0);
    hub_store_relaxed(&gate->untold, 0);
    hub_store_relaxed(&gate->lease, 0);
    hub_store_relaxed(&gate->state, HUB_STAGE_FREE);
}

void hub_sequencer_view_empty(const struct hub_sequencer_view *view)
{
    struct hub_region_sequencer *body = view->body;
    struct hub_a32 *const words[] = {&body->cursor_seq, &body->cursor_flag, &body->space_seq,
                                     &body->space_flag, &body->producer_lease};

    hub_store_relaxed64(&body->claim, 0);
    hub_store_relaxed64(&body->cursor, 0);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hub_store_relaxed(words[i], 0);
    for (uint32_t i = 0; i < view->stage_count; i++)
        empty_gate(&view->gates[i]);
    for (uint32_t i = 0; view->avail && i < view->ring_size; i++)
        hub_store_relaxed64(&view->avail[i], 0);
}

/* A word that is there only grows; so all before the one that is missing were there at one time. */
uint64_t hub_sequencer_view_front(const struct hub_sequencer_view *view)
{
    uint64_t claims = hub_sequencer_view_claims(view);
    uint64_t at = claims > view->ring_size ? claims - view->ring_size : 0;

    if (!view->avail)
        return claims;
    while (at < claims &&
           hub_observe64(hub_sequencer_view_word(view, at)) >= hub_sequencer_published(at))
        at++;
    return at;
}

enum hub_sequencer_look hub_sequencer_view_look(const struct hub_sequencer_view *view,
                                                uint64_t position)
{
    uint64_t word;

    if (!view->avail)
        return position < hub_observe64(&view->body->cursor) ? HUB_SEQUENCER_THERE
                                                             : HUB_SEQUENCER_NOT_YET;
    word = hub_observe64(hub_sequencer_view_word(view, position));
    return word < hub_sequencer_published(position)    ? HUB_SEQUENCER_NOT_YET
           : word == hub_sequencer_published(position) ? HUB_SEQUENCER_THERE
           : word == hub_sequencer_poisoned(position)  ? HUB_SEQUENCER_SKIP
                                                       : HUB_SEQUENCER_LAPPED;
}

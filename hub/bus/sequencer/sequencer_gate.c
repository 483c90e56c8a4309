/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/sequencer/sequencer_gate.h"

#include <inttypes.h>

#include <rapahub/error.h>

#define SCANS 64 /* tries to see all gates at rest */

static bool gates(uint32_t state)
{
    return state == HUB_STAGE_GATING || state == HUB_STAGE_FROZEN || state == HUB_STAGE_JOINING;
}

static bool is_gate(const struct hub_sequencer_view *view, uint32_t index)
{
    return gates(hub_observe(&view->gates[index].state));
}

/* Producers and joining stages fence on the same word. Where two meet, the producer sees the gate,
 * or the stage sees all that the producer had seen of the other gates. */
static void fence(const struct hub_sequencer_view *view)
{
    hub_fence(&view->body->space_flag);
}

/* False: a gate came or went meanwhile. */
static bool scan(const struct hub_sequencer_view *view, uint64_t *least, uint32_t *slowest)
{
    uint64_t seen = 0, now = 0;

    *least = UINT64_MAX;
    *slowest = HUB_STAGE_NONE;
    for (uint32_t i = 0; i < view->stage_count; i++) {
        uint64_t seq;

        if (!is_gate(view, i))
            continue;
        seen |= UINT64_C(1) << i;
        seq = hub_observe64(&view->gates[i].seq);
        if (seq < *least) {
            *least = seq;
            *slowest = i;
        }
    }
    fence(view);
    for (uint32_t i = 0; i < view->stage_count; i++)
        now |= (uint64_t)is_gate(view, i) << i;
    return now == seen;
}

/* r[impl region.stage.wrap] */
int hub_sequencer_gate_limit(const struct hub_sequencer_view *view, uint64_t *limit,
                             uint32_t *slowest)
{
    uint64_t least;
    int scans = 0;

    while (!scan(view, &least, slowest))
        if (++scans == SCANS)
            return RAPAHUB_EFULL;
    if (*slowest == HUB_STAGE_NONE)
        return RAPAHUB_EFULL;
    if (least > hub_sequencer_view_claims(view))
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.stage.wrap",
                            "stage %" PRIu32 " is at position %" PRIu64 ", which nobody claimed",
                            *slowest, least);
    *limit = least + view->ring_size;
    return 0;
}

/* r[impl region.stage.after] */
struct hub_sequencer_bound hub_sequencer_gate_bound(const struct hub_sequencer_view *view,
                                                    uint32_t index)
{
    struct hub_sequencer_bound bound = {UINT64_MAX, HUB_STAGE_NONE, 0};
    uint64_t left = view->stages[index].after;

    while (left != 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        uint64_t seq;

        left &= left - 1;
        bound.followed |= UINT64_C(1) << i;
        if (hub_sequencer_gate_is_evicted(view, i)) {
            left |= view->stages[i].after & ~bound.followed;
            continue;
        }
        seq = hub_observe64(&view->gates[i].seq);
        if (seq < bound.position) {
            bound.position = seq;
            bound.behind = i;
        }
    }
    return bound;
}

/* Says whether a stage follows another one, at once or by way of stages that have no gate: these
 * begin where it is when they come. */
static bool follows(const struct hub_sequencer_view *view, uint32_t index, uint32_t other)
{
    uint64_t followed = 0, left = view->stages[index].after;

    while (left != 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);

        left &= left - 1;
        followed |= UINT64_C(1) << i;
        if (!is_gate(view, i))
            left |= view->stages[i].after & ~followed;
    }
    return (followed >> other & 1) != 0;
}

/* Returns where the slowest stage is that follows this one; UINT64_MAX: none does. */
static uint64_t slowest_follower(const struct hub_sequencer_view *view, uint32_t index)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < view->stage_count; i++) {
        uint64_t seq = hub_observe64(&view->gates[i].seq);

        if (i != index && is_gate(view, i) && seq < least && follows(view, i, index))
            least = seq;
    }
    return least;
}

/* A stage that others follow has them waiting at what it left: it goes on there, so that they get
 * no position that it did not do. Never at a position that is claimed and not published: its place
 * in the ring would get a second owner. */
static uint64_t beginning(const struct hub_sequencer_view *view, uint32_t index)
{
    const struct hub_region_stage_gate *gate = &view->gates[index];
    uint64_t follower = hub_observe(&gate->untold) ? UINT64_MAX : slowest_follower(view, index);
    uint64_t seq = hub_observe64(&gate->seq);

    if (follower == UINT64_MAX)
        return hub_sequencer_view_front(view);
    return seq > follower ? seq : follower;
}

static int goes_on_at(const struct hub_sequencer_view *view, uint32_t index, uint64_t seq)
{
    if (seq <= hub_sequencer_view_claims(view))
        return 0;
    return rapahub_fail(
        RAPAHUB_ECORRUPT, "region.stage.wrap",
        "stage %" PRIu32 " would go on at position %" PRIu64 ", which nobody claimed", index, seq);
}

/* A stage that did not come to the end of its joining is out of it, as it was. */
static void undo_join(struct hub_region_stage_gate *gate)
{
    hub_publish(&gate->state, hub_observe(&gate->untold) ? HUB_STAGE_EVICTED : HUB_STAGE_FREE);
}

/* Producers that do not see the gate yet have a limit that ends with the ring of what the second
 * look finds, or before: so that look comes after the gate can be seen. r[impl region.stage.join]
 */
static int begin(const struct hub_sequencer_view *view, uint32_t index, uint64_t *seq)
{
    struct hub_region_stage_gate *gate = &view->gates[index];
    int r;

    *seq = beginning(view, index);
    r = goes_on_at(view, index, *seq);
    if (r < 0)
        return r;
    hub_publish64(&gate->seq, *seq);
    hub_publish(&gate->state, HUB_STAGE_JOINING);
    fence(view);
    *seq = beginning(view, index);
    r = goes_on_at(view, index, *seq);
    if (r < 0)
        undo_join(gate);
    else
        hub_publish64(&gate->seq, *seq);
    return r;
}

int hub_sequencer_gate_join(const struct hub_sequencer_view *view, uint32_t index, uint64_t *seq)
{
    struct hub_region_stage_gate *gate = &view->gates[index];
    uint32_t state = hub_observe(&gate->state);
    int r;

    if (state == HUB_STAGE_GATING || state == HUB_STAGE_FROZEN) {
        *seq = hub_observe64(&gate->seq);
        r = goes_on_at(view, index, *seq);
    } else {
        r = begin(view, index, seq);
    }
    if (r == 0)
        hub_publish(&gate->state, HUB_STAGE_GATING);
    return r;
}

void hub_sequencer_gate_leave(const struct hub_sequencer_view *view, uint32_t index)
{
    (void)hub_claim(&view->gates[index].state, HUB_STAGE_GATING, HUB_STAGE_FREE);
}

/* The stage may not have been told of the eviction before: then its gap begins where that one does.
 * r[impl region.stage.evict] */
void hub_sequencer_gate_evict(const struct hub_sequencer_view *view, uint32_t index)
{
    struct hub_region_stage_gate *gate = &view->gates[index];

    if (hub_sequencer_gate_is_evicted(view, index))
        return;
    if (!hub_observe(&gate->untold))
        hub_publish64(&gate->gap_from, hub_observe64(&gate->seq));
    hub_publish64(&gate->dead_at, hub_sequencer_view_claims(view));
    hub_publish(&gate->untold, 1);
    (void)hub_add(&gate->evictions, 1);
    hub_publish(&gate->state, HUB_STAGE_EVICTED);
}

static void freeze(struct hub_region_stage_gate *gate, uint64_t freeze_ns, uint64_t now_ns)
{
    uint64_t until = now_ns + freeze_ns;

    hub_publish64(&gate->deadline_ns, until > now_ns ? until : UINT64_MAX);
    hub_publish(&gate->state, HUB_STAGE_FROZEN);
}

/* r[impl region.stage.dead] */
void hub_sequencer_gate_died(const struct hub_sequencer_view *view, uint32_t index, uint64_t now_ns)
{
    struct hub_region_stage_gate *gate = &view->gates[index];
    const struct hub_sequencer_stage *stage = &view->stages[index];
    uint32_t state = hub_observe(&gate->state);

    if (state == HUB_STAGE_JOINING)
        undo_join(gate);
    if (state != HUB_STAGE_GATING)
        return;
    if (stage->on_death == HUB_STAGE_FREEZE)
        freeze(gate, stage->freeze_ns, now_ns);
    if (stage->on_death == HUB_STAGE_EVICT)
        hub_sequencer_gate_evict(view, index);
}

uint32_t hub_sequencer_gate_expired(const struct hub_sequencer_view *view, uint64_t now_ns)
{
    for (uint32_t i = 0; i < view->stage_count; i++)
        if (hub_observe(&view->gates[i].state) == HUB_STAGE_FROZEN &&
            hub_observe64(&view->gates[i].deadline_ns) <= now_ns)
            return i;
    return HUB_STAGE_NONE;
}

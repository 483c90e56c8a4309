/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/reap.h"

#include "hub/base/clock.h"
#include "hub/bus/fanin.h"
#include "hub/bus/fanout.h"
#include "hub/bus/sequencer/sequencer_claim.h"

static uint64_t with_state(uint64_t owner, enum hub_lease_state state)
{
    return (owner & ~UINT64_C(0xFF)) | (uint64_t)state;
}

/* The first step of all: a lease that is being reaped does not defer the reap of another one, so
 * two that died over one position do not wait for each other. */
static void mark(const struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_region_lease *lease = hub_region_lease_at(region, dead->lease);
    uint64_t owner = hub_observe64(&lease->owner);

    if (hub_region_lease_state(owner) == HUB_LEASE_HELD)
        (void)hub_claim64(&lease->owner, owner, with_state(owner, HUB_LEASE_REAPING));
}

/* The position was claimed, and never published, if the tail is past it and the cell is still free;
 * and its owner is dead if no held lease intends it: an intent is stored before the claim and
 * cleared after the publication. So the cell is read once more after the look at the intents.
 * False: a living producer may be about to claim it. */
static bool poison(const struct rapahub_region *region, uint32_t dead, uint64_t position)
{
    struct hub_a64 *state = &hub_ring_view_cell(&region->view, position)->state;
    uint64_t free_word = hub_cell_free(position);

    if (hub_observe64(&region->view.ring->tail) <= position || hub_observe64(state) != free_word)
        return true;
    if (hub_region_lease_covering(region, position, dead) != HUB_LEASE_NONE)
        return false;
    if (hub_claim64(state, free_word, hub_cell_poisoned(position)))
        (void)hub_add64(&hub_region_header(region)->poisoned_total, 1);
    return true;
}

/* The same for a position of a sequencer, whose word says what the state of a cell does. */
static bool poison_word(const struct rapahub_region *region, uint32_t dead, uint64_t position)
{
    if (!hub_sequencer_claim_is_missing(&region->sequencer, position))
        return true;
    if (hub_region_lease_covering(region, position, dead) != HUB_LEASE_NONE)
        return false;
    if (hub_sequencer_claim_poison(&region->sequencer, position))
        (void)hub_add64(&hub_region_header(region)->poisoned_total, 1);
    return true;
}

static bool reap_cells(const struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_intent intent = hub_region_lease_intent(hub_region_lease_at(region, dead->lease));
    bool done = true;

    if (!hub_region_shape_claims(&region->shape) ||
        !hub_region_shape_has(&region->shape, HUB_CAP_POISON))
        return true;
    for (uint32_t i = 0; i < intent.count; i++)
        done &= (hub_region_shape_is_sequencer(&region->shape) ? poison_word : poison)(
            region, dead->lease, intent.first + i);
    return done;
}

/* The state itself is left as it is: what the writer had begun was never seen. */
static void reap_writer(const struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_sleep changed = hub_region_state_changed(region);

    (void)hub_claim(region->state.writer_lease, dead->lease + 1, 0);
    hub_sleep_wake_all(&changed);
}

static void wake_stages_and_producers(const struct rapahub_region *region)
{
    struct hub_sleep cursor = hub_region_sequencer_cursor(region);
    struct hub_sleep space = hub_region_sequencer_space(region);

    hub_sleep_wake_all(&cursor);
    hub_sleep_wake_all(&space);
}

/* The gate comes before the word of its lease: a reaper that follows does it again. */
static void reap_stages(const struct rapahub_region *region, const struct hub_dead *dead)
{
    const struct hub_sequencer_view *view = &region->sequencer;

    (void)hub_claim(&view->body->producer_lease, dead->lease + 1, 0);
    for (uint32_t i = 0; i < view->stage_count; i++) {
        if (hub_observe(&view->gates[i].lease) != dead->lease + 1)
            continue;
        hub_sequencer_gate_died(view, i, hub_clock_now());
        (void)hub_claim(&view->gates[i].lease, dead->lease + 1, 0);
    }
    wake_stages_and_producers(region);
}

static void reap_roles(const struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_region_ring *ring = region->view.ring;

    if (hub_region_shape_is_state(&region->shape)) {
        reap_writer(region, dead);
        return;
    }
    if (hub_region_shape_is_sequencer(&region->shape)) {
        reap_stages(region, dead);
        return;
    }
    (void)hub_claim(&ring->producer_lease, dead->lease + 1, 0);
    (void)hub_claim(&ring->consumer_lease, dead->lease + 1, 0);
    if (region->shape.kind == HUB_REGION_FANOUT)
        hub_fanout_forget(region, dead->lease);
    if (region->shape.kind == HUB_REGION_FANIN)
        hub_fanin_forget(region, dead->lease);
    hub_sleep_wake_all(&region->view.not_empty);
    hub_sleep_wake_all(&region->view.not_full);
}

/* The count rises before the lease is free: a reaper that dies between both is counted twice. */
static bool reap_one(struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_region_lease *lease = hub_region_lease_at(region, dead->lease);
    uint64_t owner = hub_observe64(&lease->owner);

    if (!reap_cells(region, dead))
        return false;
    reap_roles(region, dead);
    hub_publish64(&lease->intent, 0);
    if (hub_region_lease_state(owner) != HUB_LEASE_GRANTING)
        (void)hub_add64(&hub_region_header(region)->reaped_total, 1);
    hub_publish64(&lease->owner, hub_region_lease_next(owner));
    return true;
}

/* A stage that came again in time is no longer frozen. */
static void evict_expired(const struct rapahub_region *region)
{
    uint32_t stage;

    while ((stage = hub_sequencer_gate_expired(&region->sequencer, hub_clock_now())) !=
           HUB_STAGE_NONE) {
        hub_sequencer_gate_evict(&region->sequencer, stage);
        wake_stages_and_producers(region);
    }
}

uint32_t hub_reap_dead(struct rapahub_region *region)
{
    uint32_t freed = 0;
    struct hub_dead dead;

    if (hub_region_shape_is_sequencer(&region->shape))
        evict_expired(region);

    for (uint32_t i = 0; i < region->shape.lease_count; i++)
        if (hub_region_lease_prove(region, i, &dead))
            mark(region, &dead);
    for (uint32_t i = 0; i < region->shape.lease_count; i++)
        if (hub_region_lease_prove(region, i, &dead))
            freed += reap_one(region, &dead);
    return freed;
}

uint32_t hub_reap_try(struct rapahub_region *region)
{
    uint32_t freed = 0;

    if (hub_region_table_enter(region, 0) < 0)
        return 0;
    freed = hub_reap_dead(region);
    hub_region_table_leave(region);
    return freed;
}

void hub_reap_stages(struct rapahub_region *region)
{
    const struct hub_sequencer_view *view = &region->sequencer;
    bool found = hub_sequencer_gate_expired(view, hub_clock_now()) != HUB_STAGE_NONE;
    struct hub_dead dead;

    for (uint32_t i = 0; i < view->stage_count && !found; i++) {
        uint32_t lease = hub_observe(&view->gates[i].lease);

        found = lease > 0 && lease <= region->shape.lease_count &&
                hub_region_lease_prove(region, lease - 1, &dead);
    }
    if (found)
        (void)hub_reap_try(region);
}

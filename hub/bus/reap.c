/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/reap.h"

#include "hub/bus/fanin.h"
#include "hub/bus/fanout.h"

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

static bool reap_cells(const struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_intent intent = hub_region_lease_intent(hub_region_lease_at(region, dead->lease));
    bool done = true;

    if (!hub_region_shape_claims(&region->shape) || !region->view.poison)
        return true;
    for (uint32_t i = 0; i < intent.count; i++)
        done &= poison(region, dead->lease, intent.first + i);
    return done;
}

/* The state itself is left as it is: what the writer had begun was never seen. */
static void reap_writer(const struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_sleep changed = hub_region_state_changed(region);

    (void)hub_claim(region->state.writer_lease, dead->lease + 1, 0);
    hub_sleep_wake_all(&changed);
}

static void reap_roles(const struct rapahub_region *region, const struct hub_dead *dead)
{
    struct hub_region_ring *ring = region->view.ring;

    if (hub_region_shape_is_state(&region->shape)) {
        reap_writer(region, dead);
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

uint32_t hub_reap_dead(struct rapahub_region *region)
{
    uint32_t freed = 0;
    struct hub_dead dead;

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

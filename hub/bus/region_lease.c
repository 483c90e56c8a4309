/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/region_lease.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/lock.h"

#define EPOCH UINT64_C(0xFFFF0000)

static uint64_t owner_word(const struct rapahub_region *region, uint64_t before,
                           enum hub_lease_role role, enum hub_lease_state state)
{
    int32_t pid = region->holder.pid ? region->holder.pid : getpid();

    return (uint64_t)(uint32_t)pid << 32 | (before & EPOCH) | (uint64_t)role << 8 | (uint64_t)state;
}

static bool is_held_here(const struct rapahub_region *region, uint32_t index)
{
    return (hub_load_relaxed64(&region->leases[index / 64]) >> index % 64 & 1) != 0;
}

static void note_held(struct rapahub_region *region, uint32_t index, bool held)
{
    struct hub_a64 *word = &region->leases[index / 64];
    uint64_t bit = UINT64_C(1) << index % 64, before;

    hub_mutex_lock(&region->mutex);
    before = hub_load_relaxed64(word);
    hub_store_relaxed64(word, held ? before | bit : before & ~bit);
    hub_mutex_unlock(&region->mutex);
}

bool hub_region_lease_prove(const struct rapahub_region *region, uint32_t index,
                            struct hub_dead *out)
{
    uint64_t owner = hub_observe64(&hub_region_lease_at(region, index)->owner);

    *out = (struct hub_dead){index};
    return hub_region_lease_state(owner) != HUB_LEASE_FREE && !is_held_here(region, index) &&
           hub_lock_free(region->mapping.fd, HUB_REGION_LOCK_LEASE + index, 1) == 1;
}

uint32_t hub_region_lease_covering(const struct rapahub_region *region, uint64_t position,
                                   uint32_t but)
{
    for (uint32_t i = 0; i < region->shape.lease_count; i++) {
        const struct hub_region_lease *lease = hub_region_lease_at(region, i);
        struct hub_intent intent = hub_region_lease_intent(lease);

        if (i != but && position - intent.first < intent.count &&
            hub_region_lease_state(hub_observe64(&lease->owner)) == HUB_LEASE_HELD)
            return i;
    }
    return HUB_LEASE_NONE;
}

void hub_region_lease_adopt(struct rapahub_region *region, uint32_t index)
{
    note_held(region, index, true);
}

static void fill(const struct rapahub_region *region, struct hub_region_lease *lease)
{
    const char *name = region->holder.name ? region->holder.name : program_invocation_short_name;
    int cpu = sched_getcpu();
    size_t size = strlen(name);

    if (size >= sizeof lease->name)
        size = sizeof lease->name - 1;
    memset(lease->name, 0, sizeof lease->name);
    memcpy(lease->name, name, size);
    hub_publish64(&lease->intent, 0);
    hub_store_relaxed64(&lease->since_ns, hub_clock_now());
    hub_store_relaxed(&lease->cpu, (uint32_t)(cpu + 1));
}

/* A lock that is refused: another process has the byte without the lease, which is against the
 * rules; the lease is left alone. */
static bool take(struct rapahub_region *region, uint32_t index, enum hub_lease_role role)
{
    struct hub_region_lease *lease = hub_region_lease_at(region, index);
    uint64_t before = hub_observe64(&lease->owner);
    uint64_t granting = owner_word(region, before, role, HUB_LEASE_GRANTING);

    if (hub_region_lease_state(before) != HUB_LEASE_FREE || is_held_here(region, index) ||
        !hub_claim64(&lease->owner, before, granting))
        return false;
    fill(region, lease);
    if (hub_lock_try(region->mapping.fd, HUB_REGION_LOCK_LEASE + index, 1) < 0) {
        hub_publish64(&lease->owner, hub_region_lease_next(granting));
        return false;
    }
    note_held(region, index, true);
    hub_publish64(&lease->owner, owner_word(region, before, role, HUB_LEASE_HELD));
    return true;
}

int hub_region_lease_grant(struct rapahub_region *region, enum hub_lease_role role, uint32_t *out)
{
    for (uint32_t i = 0; i < region->shape.lease_count; i++) {
        if (!take(region, i, role))
            continue;
        *out = i;
        return 0;
    }
    return rapahub_fail(RAPAHUB_EFULL, "region.lease",
                        "all %" PRIu32 " leases of the region are held: close a handle, or make it "
                        "anew with more",
                        region->shape.lease_count);
}

void hub_region_lease_release(struct rapahub_region *region, uint32_t index)
{
    struct hub_region_lease *lease = hub_region_lease_at(region, index);

    hub_publish64(&lease->owner, hub_region_lease_next(hub_observe64(&lease->owner)));
    note_held(region, index, false);
    (void)hub_lock_drop(region->mapping.fd, HUB_REGION_LOCK_LEASE + index, 1);
}

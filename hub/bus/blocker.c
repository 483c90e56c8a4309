/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/blocker.h"

#include <inttypes.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/base/printable.h"
#include "hub/bus/region_lease.h"

/* HELD or REAPING. Only one that was claimed has an owner that covers it, but losers may, too. */
static bool covers(const struct rapahub_region *region, uint32_t index, uint64_t position)
{
    const struct hub_region_lease *lease = hub_region_lease_at(region, index);
    enum hub_lease_state state = hub_region_lease_state(hub_observe64(&lease->owner));
    struct hub_intent intent = hub_region_lease_intent(lease);

    return (state == HUB_LEASE_HELD || state == HUB_LEASE_REAPING) &&
           position - intent.first < intent.count;
}

void hub_blocker_name(const struct rapahub_region *region, uint32_t lease, char to[32])
{
    const struct hub_region_lease *from = hub_region_lease_at(region, lease);

    memset(to, 0, 32);
    hub_atomic_copy_bytes(to, from->name, sizeof from->name);
    hub_printable_mend(to);
}

void hub_blocker_find(const struct rapahub_region *region, uint64_t position,
                      struct rapahub_region_blocker *out)
{
    *out = (struct rapahub_region_blocker){.position = position};
    for (uint32_t i = 0; i < region->shape.lease_count && !out->known; i++) {
        const struct hub_region_lease *lease = hub_region_lease_at(region, i);

        if (!covers(region, i, position))
            continue;
        out->known = true;
        out->lease = i;
        out->pid = hub_region_lease_pid(hub_observe64(&lease->owner));
        out->since_ns = hub_load_relaxed64(&lease->since_ns);
        hub_blocker_name(region, i, out->name);
    }
}

int hub_blocker_refuse(const struct rapahub_region *region, uint64_t position,
                       struct rapahub_region_blocker *out)
{
    hub_blocker_find(region, position, out);
    if (!out->known)
        return rapahub_fail(RAPAHUB_EBLOCKED, "region.blocked",
                            "position %" PRIu64 " is claimed and not published, and the region has "
                            "no lease that says by which process",
                            position);
    return rapahub_fail(RAPAHUB_EBLOCKED, "region.blocked",
                        "lease %" PRIu32 " (%s, pid %" PRId32 ") at position %" PRIu64
                        " for %" PRIu64 " ms: continue or kill it",
                        out->lease, out->name, out->pid, out->position,
                        (hub_clock_now() - out->since_ns) / HUB_MILLISECOND);
}

bool hub_blocker_is_dead(const struct rapahub_region *region, uint64_t position)
{
    struct hub_dead dead;

    for (uint32_t i = 0; i < region->shape.lease_count; i++)
        if (covers(region, i, position) && hub_region_lease_prove(region, i, &dead))
            return true;
    return false;
}

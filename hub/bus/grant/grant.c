/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/grant/grant.h"

#include <inttypes.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/lock.h"
#include "hub/bus/fanout.h"
#include "hub/bus/reap.h"
#include "hub/bus/role.h"

#define WAIT (100 * HUB_MILLISECOND) /* for another process that changes roles just now */

_Static_assert(HUB_GRANT_NO_LEASE == HUB_LEASE_NONE, "one number");
_Static_assert((int)RAPAHUB_REGION_ROLE_WRITER == (int)HUB_LEASE_WRITER &&
                   (int)RAPAHUB_REGION_ROLE_PRODUCER == (int)HUB_LEASE_PRODUCER,
               "one number");

uint32_t hub_grant_places(const struct rapahub_region *region, enum rapahub_region_role role,
                          bool *shared)
{
    return hub_region_shape_places(&region->shape, role, shared);
}

static int take(struct rapahub_region *apart, const struct hub_grant_order *order,
                struct hub_grant *out)
{
    struct hub_role role = {.lease = HUB_LEASE_NONE};
    int r = 0;

    if (order->role != RAPAHUB_REGION_ROLE_READER)
        r = hub_role_take(apart, (enum hub_lease_role)order->role, order->index, &role);
    *out = (struct hub_grant){hub_region_header(apart)->id, (uint32_t)order->role, order->index,
                              role.lease, 0};
    if (r == 0 && role.lease != HUB_LEASE_NONE)
        out->owner = hub_observe64(&hub_region_lease_at(apart, role.lease)->owner);
    return r;
}

int hub_grant_make(const struct rapahub_region *region, const struct hub_grant_order *order,
                   struct hub_grant *out)
{
    const struct rapahub_region_open_options options = {.wait_ns = WAIT};
    struct rapahub_region *apart;
    bool shared;
    int r = order->index < hub_grant_places(region, order->role, &shared)
                ? rapahub_region_adopt(rapahub_region_fd(region), &options, &apart)
                : rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                               "the region has no such role of index %" PRIu32, order->index);

    if (r < 0)
        return r;
    apart->holder = (struct hub_region_holder){order->pid, order->name};
    r = take(apart, order, out);
    if (r == 0)
        return hub_region_give_away(apart);
    (void)rapahub_region_close(apart);
    return r;
}

static bool is_granted(const struct rapahub_region *region, const struct hub_grant *grant)
{
    uint64_t owner;

    if (grant->role == RAPAHUB_REGION_ROLE_READER || region->shape.lease_count == 0)
        return grant->lease == HUB_LEASE_NONE;
    if (grant->lease >= region->shape.lease_count)
        return false;
    owner = hub_observe64(&hub_region_lease_at(region, grant->lease)->owner);
    return hub_region_lease_state(owner) == HUB_LEASE_HELD &&
           hub_region_lease_role(owner) == grant->role;
}

static int check(const struct rapahub_region *region, const struct hub_grant *grant)
{
    bool shared;

    return hub_region_header(region)->id == grant->region &&
                   grant->index <
                       hub_grant_places(region, (enum rapahub_region_role)grant->role, &shared) &&
                   is_granted(region, grant)
               ? 0
               : rapahub_fail(RAPAHUB_EPROTOCOL, "supervise.role.holder",
                              "the region that came has not the role that was named: %" PRIu32
                              ", index %" PRIu32 ", lease %" PRIu32,
                              grant->role, grant->index, grant->lease);
}

int hub_grant_adopt(int fd, const struct hub_grant *grant, struct rapahub_region **out)
{
    const struct rapahub_region_open_options options = {.foreign = true, .wait_ns = WAIT};
    struct rapahub_region *region;
    struct hub_mapping mapping;
    int r = hub_mapping_adopt_named(fd, HUB_REGION_FROZEN, &mapping);

    if (r == 0)
        r = hub_region_attach(&mapping, &options, &region);
    if (r < 0)
        return r;
    r = check(region, grant);
    if (r < 0) {
        (void)rapahub_region_close(region);
        return r;
    }
    if (grant->lease != HUB_LEASE_NONE)
        hub_region_lease_adopt(region, grant->lease);
    region->granted =
        (struct hub_region_granted){true, false, grant->role, grant->index, grant->lease};
    region->shut = (struct hub_a32){grant->role == RAPAHUB_REGION_ROLE_CONSUMER ||
                                    grant->role == RAPAHUB_REGION_ROLE_READER};
    *out = region;
    return 0;
}

static bool read_header(int fd, struct hub_region_header *out)
{
    return pread(fd, out, sizeof *out, 0) == (ssize_t)sizeof *out &&
           out->magic.word == HUB_REGION_MAGIC;
}

bool hub_grant_region_of(int fd, uint64_t *out)
{
    struct hub_region_header header;

    if (!read_header(fd, &header))
        return false;
    *out = header.id;
    return true;
}

/* The byte that a description with this role has locked; 0: none. An index out of range is refused
 * when the region is mapped. */
static uint64_t lock_of(const struct hub_region_header *header, const struct hub_grant *grant)
{
    enum hub_region_kind kind = (enum hub_region_kind)(header->flags & 0xFF);

    if (grant->lease != HUB_GRANT_NO_LEASE)
        return HUB_REGION_LOCK_LEASE + grant->lease;
    if (grant->role == RAPAHUB_REGION_ROLE_CONSUMER)
        return HUB_REGION_LOCK_CONSUMER + grant->index;
    if (grant->role == RAPAHUB_REGION_ROLE_WRITER)
        return HUB_REGION_LOCK_WRITER;
    return grant->role == RAPAHUB_REGION_ROLE_PRODUCER &&
                   (kind == HUB_REGION_SPSC || kind == HUB_REGION_FANIN)
               ? HUB_REGION_LOCK_PRODUCER + grant->index
               : 0;
}

bool hub_grant_is_held(int fd, const struct hub_grant *grant)
{
    struct hub_region_header header;
    uint64_t lock;

    if (!read_header(fd, &header) || header.id != grant->region)
        return false;
    lock = lock_of(&header, grant);
    return lock == 0 || hub_lock_try(fd, lock, 1) == 0;
}

void hub_grant_reap(struct rapahub_region *region)
{
    (void)hub_reap_try(region);
}

/* Under TABLE. */
static bool is_its_holder(const struct rapahub_region *region, const struct hub_grant *grant)
{
    return grant->lease < region->shape.lease_count &&
           hub_observe(&hub_fanout_consumer(region, grant->index)->lease) == grant->lease + 1 &&
           hub_observe64(&hub_region_lease_at(region, grant->lease)->owner) == grant->owner;
}

void hub_grant_unsubscribe(struct rapahub_region *region, const struct hub_grant *grant)
{
    if (grant->role != RAPAHUB_REGION_ROLE_CONSUMER || region->shape.kind != HUB_REGION_FANOUT ||
        grant->index >= region->shape.fanout.consumers ||
        hub_region_table_enter(region, hub_clock_after(WAIT)) < 0)
        return;
    if (is_its_holder(region, grant) || !hub_role_is_held(region, HUB_LEASE_CONSUMER, grant->index))
        hub_fanout_unsubscribe(region, grant->index);
    hub_region_table_leave(region);
}

void hub_grant_keep(struct rapahub_region *region, const struct hub_grant *grant, bool keep)
{
    if (grant->role == RAPAHUB_REGION_ROLE_CONSUMER && region->shape.kind == HUB_REGION_FANOUT)
        hub_role_keep(region, grant->index, keep);
}

void hub_grant_open(struct rapahub_region *region)
{
    hub_region_unshut(region);
}

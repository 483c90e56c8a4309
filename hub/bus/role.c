/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/role.h"

#include <inttypes.h>

#include "hub/base/clock.h"
#include "hub/base/lock.h"
#include "hub/bus/fanin.h"
#include "hub/bus/fanout.h"
#include "hub/bus/reap.h"

/* A role that only one handle has, in this region. */
struct single {
    uint64_t lock; /* 0: any number may have the role */
    unsigned set;  /* the word of the region that has the bit */
    uint64_t bit;  /* a handle of this process has it */
    struct hub_a32 *word;
};

static struct single consumer_of(const struct rapahub_region *region, uint32_t index)
{
    enum hub_region_kind kind = region->shape.kind;

    return (struct single){HUB_REGION_LOCK_CONSUMER + index, 1, UINT64_C(1) << index,
                           kind == HUB_REGION_FANOUT  ? &hub_fanout_consumer(region, index)->lease
                           : kind == HUB_REGION_FANIN ? &hub_fanin_body(region)->consumer_lease
                           : kind == HUB_REGION_SEQUENCER ? &region->sequencer.gates[index].lease
                                                          : &region->view.ring->consumer_lease};
}

/* The producer of a ring that is not claimed. */
static struct single producer_of(const struct rapahub_region *region, uint32_t index)
{
    struct hub_ring_view view = region->view;

    if (region->shape.kind == HUB_REGION_SEQUENCER)
        return (struct single){HUB_REGION_LOCK_PRODUCER, 2, 1,
                               &region->sequencer.body->producer_lease};
    if (region->shape.kind == HUB_REGION_FANIN)
        view = hub_region_ring_view(region->mapping.data, &region->shape, index);
    return (struct single){HUB_REGION_LOCK_PRODUCER + index, 2 + index / 64,
                           UINT64_C(1) << index % 64, &view.ring->producer_lease};
}

static struct single single_of(const struct rapahub_region *region, enum hub_lease_role role,
                               uint32_t index)
{
    if (role == HUB_LEASE_CONSUMER)
        return consumer_of(region, index);
    if (role == HUB_LEASE_PRODUCER && !hub_region_shape_claims(&region->shape))
        return producer_of(region, index);
    if (role == HUB_LEASE_ROUTER && region->shape.kind == HUB_REGION_FANOUT)
        return (struct single){HUB_REGION_LOCK_ROUTER, 0, 1,
                               &hub_fanout_body(region)->router_lease};
    if (role == HUB_LEASE_WRITER)
        return (struct single){HUB_REGION_LOCK_WRITER, 0, 2, region->state.writer_lease};
    return (struct single){0, 0, 0, NULL};
}

/* For people only: what the lease says of its holder. */
static int refuse_taken(const struct rapahub_region *region, enum hub_lease_role role,
                        const struct single *single)
{
    static const char *const words[] = {"", "producer", "consumer", "router", "writer"};
    const char *word = words[role];
    uint32_t lease = hub_observe(single->word);

    if (lease == 0 || lease > region->shape.lease_count)
        return rapahub_fail(RAPAHUB_EROLETAKEN, "region.role", "the region has a %s that lives",
                            word);
    return rapahub_fail(
        RAPAHUB_EROLETAKEN, "region.role",
        "the region has a %s that lives: lease %" PRIu32 ", pid %" PRId32, word, lease - 1,
        hub_region_lease_pid(hub_observe64(&hub_region_lease_at(region, lease - 1)->owner)));
}

/* Says whether this handle is the one that has the role from now on. */
static bool take_single(struct rapahub_region *region, const struct single *single)
{
    bool taken;

    hub_mutex_lock(&region->mutex);
    taken = (region->roles[single->set] & single->bit) == 0 &&
            hub_lock_try(region->mapping.fd, single->lock, 1) == 0;
    if (taken)
        region->roles[single->set] |= single->bit;
    hub_mutex_unlock(&region->mutex);
    return taken;
}

static void drop_single(struct rapahub_region *region, const struct single *single)
{
    hub_mutex_lock(&region->mutex);
    region->roles[single->set] &= ~single->bit;
    (void)hub_lock_drop(region->mapping.fd, single->lock, 1);
    hub_mutex_unlock(&region->mutex);
}

static bool is_single_held(struct rapahub_region *region, const struct single *single)
{
    bool held;

    hub_mutex_lock(&region->mutex);
    held = (region->roles[single->set] & single->bit) != 0 ||
           hub_lock_free(region->mapping.fd, single->lock, 1) == 0;
    hub_mutex_unlock(&region->mutex);
    return held;
}

static struct single keep_of(uint32_t index)
{
    return (struct single){HUB_REGION_LOCK_KEEP + index, 6, UINT64_C(1) << index, NULL};
}

void hub_role_keep(struct rapahub_region *region, uint32_t index, bool keep)
{
    struct single single = keep_of(index);

    if (keep)
        (void)take_single(region, &single);
    else
        drop_single(region, &single);
}

bool hub_role_is_kept(struct rapahub_region *region, uint32_t index)
{
    struct single single = keep_of(index);

    return is_single_held(region, &single);
}

static bool is_subscriber(const struct hub_role *role)
{
    return role->role == HUB_LEASE_CONSUMER && role->region->shape.kind == HUB_REGION_FANOUT;
}

/* Under TABLE. */
static int take(struct hub_role *role)
{
    struct rapahub_region *region = role->region;
    struct single single = single_of(region, role->role, role->index);
    int r = hub_region_current(region);

    if (r < 0)
        return r;
    (void)hub_reap_dead(region);
    if (single.lock && !take_single(region, &single))
        return refuse_taken(region, role->role, &single);
    if (region->shape.lease_count > 0)
        r = hub_region_lease_grant(region, role->role, &role->lease);
    if (single.lock && r < 0)
        drop_single(region, &single);
    if (single.lock && r == 0)
        hub_publish(single.word, role->lease == HUB_LEASE_NONE ? 0 : role->lease + 1);
    if (r == 0 && is_subscriber(role))
        hub_fanout_subscribe(region, role->index);
    return r;
}

/* A state has a writer, and no other kind has one. */
static int check_kind(const struct rapahub_region *region, enum hub_lease_role role)
{
    bool state = hub_region_shape_is_state(&region->shape);

    if (state != (role == HUB_LEASE_WRITER))
        return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                            state ? "the region is a state: it has a writer and readers, and no "
                                    "messages"
                                  : "the region has messages, and no value: it is no state");
    return region->read_only ? rapahub_fail(RAPAHUB_EINVAL, "region.state.read-only",
                                            "the region was opened read-only: only readers can "
                                            "use it")
                             : 0;
}

/* Its locks are held by this very description, and its words were filled in by the process that
 * granted it. */
static int take_granted(struct hub_role *role)
{
    struct rapahub_region *region = role->region;
    struct hub_region_granted *granted = &region->granted;
    struct single single = single_of(region, role->role, role->index);

    if (granted->taken || granted->role != (uint32_t)role->role || granted->index != role->index ||
        (single.lock && !take_single(region, &single)))
        return rapahub_fail(RAPAHUB_EROLETAKEN, "region.role",
                            "the region came with one role, and this is another one");
    granted->taken = true;
    role->lease = granted->lease;
    return 0;
}

int hub_role_take(struct rapahub_region *region, enum hub_lease_role role, uint32_t index,
                  struct hub_role *out)
{
    int r = check_kind(region, role);

    *out = (struct hub_role){region, role, index, HUB_LEASE_NONE};
    if (r == 0 && !region->granted.given)
        r = hub_region_table_enter(region, hub_clock_after(region->wait_ns));
    if (r < 0)
        return r;
    if (region->granted.given)
        r = take_granted(out);
    else {
        r = take(out);
        hub_region_table_leave(region);
    }
    if (r == 0)
        hub_region_handle_opened(region);
    return r;
}

/* A subscription that came with a grant is not this handle's to end.
 * r[impl supervise.role.kept] */
static void end_subscription(const struct hub_role *role)
{
    if (!role->region->granted.given)
        hub_fanout_unsubscribe(role->region, role->index);
    else if (!hub_role_is_kept(role->region, role->index))
        hub_fanout_suspend(role->region, role->index);
}

/* The lock of a role goes last: when it is free, the rest is cleared. */
void hub_role_drop(const struct hub_role *role)
{
    struct rapahub_region *region = role->region;
    struct single single = single_of(region, role->role, role->index);

    if (is_subscriber(role))
        end_subscription(role);
    if (single.lock)
        hub_publish(single.word, 0);
    if (role->lease != HUB_LEASE_NONE)
        hub_region_lease_release(region, role->lease);
    if (single.lock)
        drop_single(region, &single);
    hub_region_handle_closed(region);
}

int hub_role_refuse_let_go(const char *word)
{
    return rapahub_fail(RAPAHUB_ESTATE, "region.let-go",
                        "the %s has let its role go: another version of the module has it", word);
}

static bool lease_died(struct rapahub_region *region, const struct single *single)
{
    uint32_t lease = hub_observe(single->word);
    struct hub_dead dead;

    if (lease == 0 || lease > region->shape.lease_count ||
        !hub_region_lease_prove(region, lease - 1, &dead))
        return false;
    (void)hub_reap_try(region);
    return true;
}

bool hub_role_is_held(struct rapahub_region *region, enum hub_lease_role role, uint32_t index)
{
    struct single single = single_of(region, role, index);

    return is_single_held(region, &single);
}

bool hub_role_counterpart_died(struct hub_role_counterpart *counterpart)
{
    struct rapahub_region *region = counterpart->region;
    struct single single = single_of(region, counterpart->role, counterpart->index);
    bool seen = counterpart->seen, held;

    if (!single.lock)
        return false;
    if (region->shape.lease_count > 0)
        return lease_died(region, &single);
    held = hub_role_is_held(region, counterpart->role, counterpart->index);
    counterpart->seen = held;
    return seen && !held;
}

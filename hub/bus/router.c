/* SPDX-License-Identifier: Apache-2.0 */
/* router: the public handle of the one who carries messages from the source ring of a region to the
 * queues of its consumers. r[impl region.router] */
#include <stdlib.h>

#include <rapahub/region.h>

#include "hub/base/clock.h"
#include "hub/bus/bus_wait.h"
#include "hub/bus/fanout_route.h"
#include "hub/bus/ring_reader.h"

#define STANDBY_GAP (10 * HUB_MILLISECOND) /* between two looks at the router before it */

struct rapahub_router {
    struct hub_ring_reader reader; /* takes from the source */
    struct hub_fanout_route route;
    struct hub_role role;
    bool spins; /* while it waits for credit */
};

/* No event tells of a role that becomes free. r[impl region.router.standby] */
static int take_role(struct rapahub_region *region, uint64_t timeout_ns, struct hub_role *out)
{
    uint64_t deadline = hub_clock_after(timeout_ns);
    int r = hub_role_take(region, HUB_LEASE_ROUTER, 0, out);

    while (r == RAPAHUB_EROLETAKEN && hub_clock_left(deadline) > 0) {
        hub_clock_pause(STANDBY_GAP);
        if (!hub_role_is_held(region, HUB_LEASE_ROUTER, 0) || hub_clock_left(deadline) == 0)
            r = hub_role_take(region, HUB_LEASE_ROUTER, 0, out);
    }
    return r;
}

static int begin(struct rapahub_router *router, struct rapahub_region *region, uint64_t timeout_ns)
{
    struct hub_ring_reader *reader = &router->reader;
    int r = take_role(region, timeout_ns, &router->role);

    if (r < 0)
        return r;
    router->spins = true;
    reader->view = region->view;
    reader->many = true;
    reader->producer = (struct hub_role_counterpart){.region = region, .role = HUB_LEASE_PRODUCER};
    r = hub_ring_reader_begin(reader);
    if (r == 0)
        r = hub_fanout_route_begin(&router->route, region, reader->head);
    if (r < 0)
        hub_role_drop(&router->role);
    else
        (void)hub_add(&hub_fanout_body(region)->router_epoch, 1);
    return r;
}

int rapahub_router_open(struct rapahub_region *region, uint64_t timeout_ns,
                        struct rapahub_router **out)
{
    struct rapahub_router *router;
    int r;

    if (region->shape.kind != HUB_REGION_FANOUT)
        return rapahub_fail(RAPAHUB_EBADKIND, "region.router",
                            "only a region of kind FANOUT has a router");
    router = calloc(1, sizeof *router);
    if (!router)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a router");
    r = begin(router, region, timeout_ns);
    if (r < 0) {
        free(router);
        return r;
    }
    *out = router;
    return 0;
}

/* Poisoned cells are freed on the way. */
static int step(struct rapahub_router *router)
{
    struct hub_ring_reader *reader = &router->reader;
    struct rapahub_message message;
    int r = hub_ring_reader_show(reader, 0, &message);

    if (r == 0)
        r = hub_fanout_route_message(&router->route, &message);
    if (r < 0)
        return r;
    hub_ring_reader_take(reader);
    hub_count64(&hub_fanout_body(router->role.region)->routed, 1);
    return 0;
}

static bool has_credit(const void *user)
{
    const struct rapahub_router *router = user;

    return !hub_fanout_route_is_held_up(&router->route);
}

static int look_at_consumers(void *user)
{
    struct rapahub_router *router = user;

    hub_fanout_route_look(&router->route);
    return 0;
}

/* All consumers wake the router where the first one does. */
static int wait_for_credit(struct rapahub_router *router, uint64_t deadline_ns)
{
    const struct hub_bus_wait wait = {.region = router->role.region,
                                      .sleep = &router->route.queues[0].view.not_full,
                                      .ready = has_credit,
                                      .look = look_at_consumers,
                                      .user = router,
                                      .spins = &router->spins};

    return hub_bus_wait_until(&wait, deadline_ns);
}

static int wait(struct rapahub_router *router, int why, uint64_t deadline_ns)
{
    if (why == RAPAHUB_EFULL)
        return wait_for_credit(router, deadline_ns);
    hub_ring_reader_store(&router->reader);
    return hub_ring_reader_wait(&router->reader, deadline_ns);
}

int rapahub_router_run(struct rapahub_router *router, uint32_t max, uint64_t timeout_ns,
                       uint32_t *out)
{
    uint64_t deadline = timeout_ns ? hub_clock_after(timeout_ns) : 0;
    int r = 0;

    *out = 0;
    while (*out < max && r == 0) {
        r = step(router);
        *out += r == 0;
        if (r != RAPAHUB_EEMPTY && r != RAPAHUB_EFULL)
            continue;
        if (*out > 0)
            return 0;
        if (timeout_ns == 0) {
            if (r == RAPAHUB_EFULL)
                hub_fanout_route_look(&router->route);
            else
                hub_ring_reader_rest(&router->reader, false);
            return r;
        }
        r = wait(router, r, deadline);
    }
    return r;
}

void rapahub_router_close(struct rapahub_router *router)
{
    if (!router)
        return;
    hub_ring_reader_store(&router->reader);
    hub_role_drop(&router->role);
    free(router);
}

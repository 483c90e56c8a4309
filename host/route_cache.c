/* SPDX-License-Identifier: Apache-2.0 */
#include "host/route_cache.h"

#include "host/host.h"

void host_route_cache_note(struct rapahub_host *host, const struct host_route *route)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);

    if (!scratch || !route->life || !route->container || host_scratch_is_inside(scratch))
        return;
    scratch->target = route->container->id;
    scratch->handle = route->handle;
    scratch->order = (struct hub_direct_order){.usual_ns = host->options.call_timeout_ns,
                                               .answer = &scratch->quick,
                                               .small = host_scratch_small(scratch)};
    host_scratch_set_place(scratch, route->life, route->container, route->version);
}

struct host_scratch *host_route_cache_find(struct rapahub_host *host,
                                           struct rapahub_container_id target)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);

    return scratch && host_scratch_is_to(scratch, target) && !host_scratch_is_inside(scratch) &&
                   hub_peek(&host->routes.version) == scratch->version
               ? scratch
               : NULL;
}

struct host_scratch *host_route_cache_find_at_rest(struct rapahub_host *host,
                                                   struct rapahub_container_id target)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);

    return scratch && host_scratch_is_to(scratch, target) &&
                   hub_peek(&host->routes.version) == scratch->version_at_rest
               ? scratch
               : NULL;
}

bool host_route_cache_go_in(struct rapahub_host *host, struct host_scratch *scratch)
{
    host_scratch_enter(scratch);
    if (hub_observe(&host->routes.version) == scratch->version)
        return true;
    host_route_cache_leave(host, scratch);
    return false;
}

struct host_scratch *host_route_cache_enter(struct rapahub_host *host,
                                            struct rapahub_container_id target)
{
    struct host_scratch *scratch = host_route_cache_find(host, target);

    return scratch && host_route_cache_go_in(host, scratch) ? scratch : NULL;
}

/* A thread that waits until this one has left changes the version first, and then checks whether
 * this one is inside. Hence a changed version means that the owner may wait and must be woken. The
 * life may be freed by now. */
void host_route_cache_leave(struct rapahub_host *host, struct host_scratch *scratch)
{
    host_scratch_leave(scratch);
    if (hub_observe(&host->routes.version) != scratch->version)
        host_loop_wake(&host->loop);
}

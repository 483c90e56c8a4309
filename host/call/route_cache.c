/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/route_cache.h"

#include "host/call/call.h"

void host_route_cache_note(struct host_call *host, const struct host_route *route)
{
    struct host_caller *scratch = host_caller_get(&HOST_REGISTRY(host)->scratches);

    if (!scratch || !route->life || !route->container || host_caller_is_inside(scratch))
        return;
    scratch->target = route->container->id;
    scratch->handle = route->handle;
    scratch->order = (struct hub_direct_order){.usual_ns = host->process.options.call_timeout_ns,
                                               .answer = &scratch->quick,
                                               .small = host_caller_small(scratch)};
    host_caller_set_place(scratch, route->life, route->container, route->version);
}

struct host_caller *host_route_cache_find(struct host_call *host,
                                          struct rapahub_container_id target)
{
    struct host_caller *scratch = host_caller_get(&HOST_REGISTRY(host)->scratches);

    return scratch && host_caller_is_to(scratch, target) && !host_caller_is_inside(scratch) &&
                   hub_load_relaxed(&HOST_REGISTRY(host)->routes.version) == scratch->version
               ? scratch
               : NULL;
}

struct host_caller *host_route_cache_find_at_rest(struct host_call *host,
                                                  struct rapahub_container_id target)
{
    struct host_caller *scratch = host_caller_get(&HOST_REGISTRY(host)->scratches);

    return scratch && host_caller_is_to(scratch, target) &&
                   hub_load_relaxed(&HOST_REGISTRY(host)->routes.version) ==
                       scratch->version_at_rest
               ? scratch
               : NULL;
}

bool host_route_cache_go_in(struct host_call *host, struct host_caller *scratch)
{
    host_caller_enter(scratch);
    if (hub_observe(&HOST_REGISTRY(host)->routes.version) == scratch->version)
        return true;
    host_route_cache_leave(host, scratch);
    return false;
}

struct host_caller *host_route_cache_enter(struct host_call *host,
                                           struct rapahub_container_id target)
{
    struct host_caller *scratch = host_route_cache_find(host, target);

    return scratch && host_route_cache_go_in(host, scratch) ? scratch : NULL;
}

/* A thread that waits until this one has left changes the version first, and then checks whether
 * this one is inside. Hence a changed version means that the owner may wait and must be woken. The
 * life may be freed by now. */
void host_route_cache_leave(struct host_call *host, struct host_caller *scratch)
{
    host_caller_leave(scratch);
    if (hub_observe(&HOST_REGISTRY(host)->routes.version) != scratch->version)
        host_loop_wake(&host->process.owner.loop);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/route_cache.h"

#include "host/call/call.h"
#include "host/owner/changes.h"

void host_route_cache_note(struct host_call *host, const struct host_route *route)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);

    if (!caller || !route->life || !route->container || host_caller_is_inside(caller))
        return;
    caller->target = route->container->id;
    caller->handle = route->handle;
    caller->order = (struct hub_direct_order){.usual_ns = host->process.options.call_timeout_ns,
                                              .answer = &caller->quick,
                                              .small = host_caller_small(caller)};
    host_caller_set_place(caller, route->life, route->container, route->version);
}

struct host_caller *host_route_cache_find(struct host_call *host,
                                          struct rapahub_container_id target)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);

    return caller && host_caller_is_to(caller, target) && !host_caller_is_inside(caller) &&
                   hub_load_relaxed(&HOST_REGISTRY(host)->routes.version) == caller->version
               ? caller
               : NULL;
}

struct host_caller *host_route_cache_find_at_rest(struct host_call *host,
                                                  struct rapahub_container_id target)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);

    return caller && host_caller_is_to(caller, target) &&
                   hub_load_relaxed(&HOST_REGISTRY(host)->routes.version) == caller->version_at_rest
               ? caller
               : NULL;
}

bool host_route_cache_go_in(struct host_call *host, struct host_caller *caller)
{
    host_caller_enter(caller);
    if (hub_observe(&HOST_REGISTRY(host)->routes.version) == caller->version)
        return true;
    host_route_cache_leave(host, caller);
    return false;
}

struct host_caller *host_route_cache_enter(struct host_call *host,
                                           struct rapahub_container_id target)
{
    struct host_caller *caller = host_route_cache_find(host, target);

    return caller && host_route_cache_go_in(host, caller) ? caller : NULL;
}

/* The end of a call may let a container be replaced, or a life be freed. */
static __attribute__((noinline)) void tell_left(struct host_call *host)
{
    host_changes_tell(&host->process.owner);
    host_loop_wake(&host->process.owner.loop);
}

/* A thread that waits until this one has left changes the version first, and then checks whether
 * this one is inside. Hence a changed version means that the owner may wait and must be woken. The
 * life may be freed by now. */
void host_route_cache_leave(struct host_call *host, struct host_caller *caller)
{
    host_caller_leave(caller);
    if (hub_observe(&HOST_REGISTRY(host)->routes.version) != caller->version)
        tell_left(host);
}

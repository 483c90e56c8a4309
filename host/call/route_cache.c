/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/route_cache.h"

#include "host/call/call.h"
#include "host/owner/changes.h"

/* A call by the cached route is not looked at again here, so while the lease has an end a managed
 * container has no such route. The version was read before the lease, and a change of the lease
 * changes the version after it: a route noted meanwhile is not valid. */
static bool is_leased(const struct host_call *host, const struct host_container *container)
{
    return container->managed && host_lease_has_end(&host->process.lease);
}

void host_route_cache_note(struct host_call *host, const struct host_route *route)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);

    if (!caller || !route->life || !route->container || route->passes ||
        host_caller_is_inside(caller) || is_leased(host, route->container))
        return;
    caller->target = route->container->id;
    caller->handle = route->handle;
    caller->order = (struct hub_direct_order){.usual_ns = host->process.options.call_timeout_ns,
                                              .answer = &caller->quick,
                                              .small = host_caller_small(caller)};
    host_caller_set_place(caller, route->life, route->container, route->version);
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
static void leave(struct host_call *host, struct host_caller *caller)
{
    host_caller_leave(caller);
    if (hub_observe(&HOST_REGISTRY(host)->routes.version) != caller->version)
        tell_left(host);
}

static bool go_in(struct host_call *host, struct host_route_use *use)
{
    use->owner =
        hub_load_relaxed64(&host->process.owner.threads.owner) == (uintptr_t)use->caller->thread;
    if (use->owner)
        return true;
    host_caller_enter(use->caller);
    if (hub_observe(&HOST_REGISTRY(host)->routes.version) == use->caller->version)
        return true;
    leave(host, use->caller);
    return false;
}

bool host_route_cache_enter(struct host_call *host, struct rapahub_container_id target,
                            struct host_route_use *use)
{
    use->caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    return host_route_cache_enter_as(host, target, use);
}

bool host_route_cache_enter_as(struct host_call *host, struct rapahub_container_id target,
                               struct host_route_use *use)
{
    const struct host_caller *caller = use->caller;

    return caller && host_caller_is_to(caller, target) && !host_caller_is_inside(caller) &&
           hub_load_relaxed(&HOST_REGISTRY(host)->routes.version) == caller->version &&
           go_in(host, use);
}

bool host_route_cache_enter_at_rest(struct host_call *host, struct rapahub_container_id target,
                                    struct host_route_use *use)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);

    use->caller = caller;
    return caller && host_caller_is_to(caller, target) &&
           hub_load_relaxed(&HOST_REGISTRY(host)->routes.version) == caller->version_at_rest &&
           go_in(host, use);
}

void host_route_cache_leave(struct host_call *host, const struct host_route_use *use)
{
    if (!use->owner)
        leave(host, use->caller);
}

void host_route_cache_wait(const struct host_route_use *use)
{
    if (use->owner)
        host_caller_enter(use->caller);
}

void host_route_cache_waited(struct host_call *host, const struct host_route_use *use)
{
    if (use->owner)
        leave(host, use->caller);
}

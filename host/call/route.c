/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/route.h"

#include <string.h>

#include "host/call/call.h"
#include "host/call/inquiries.h"
#include "host/call/service.h"
#include "host/owner/changes.h"
#include "host/owner/ownership.h"
#include "host/process/guest.h"
#include "hub/base/clock.h"
#include "hub/shm/lease.h"

/* A held container is passed by a call of a chain that runs in it, as long as calls are open there:
 * they may wait for this one. r[impl cluster.hold.chain] */
static bool is_held(const struct host_container *container, const struct host_chain *chain)
{
    const struct host_guest *guest = container->guest;

    if (container->state != HOST_CONTAINER_HELD)
        return false;
    return !chain || !guest || !guest->life || container->sealed ||
           !host_chains_run_in(chain, guest->life, container);
}

static int look_at_guest(const struct host_guest *guest, const struct host_container *container,
                         struct host_route *out)
{
    out->passes = container->state == HOST_CONTAINER_HELD;
    if (guest->state == HOST_GUEST_READY &&
        (container->state == HOST_CONTAINER_READY || out->passes)) {
        out->life = guest->life;
        host_life_hold(guest->life);
        return 0;
    }
    if (guest->state == HOST_GUEST_READY && host_containers_unbegun(container))
        return -EAGAIN; /* r[impl cluster.managed] */
    return HOST_CALL(guest->host)->hooks->look(guest, &out->uncalled);
}

static struct host_container *container_of(const struct host_call *host,
                                           struct rapahub_container_id target)
{
    struct host_container *container =
        host_containers_find(&host->process.owner.registry.containers, target);

    return container && (container->guest || host_containers_is_offered(container)) ? container
                                                                                    : NULL;
}

/* The guest takes 0 for its first container. That is another one if a begin or an end that came too
 * late for the host happened in the guest all the same. */
static uint64_t handle_of(const struct host_guest *guest, const struct host_container *container)
{
    bool is_single = guest->containers.next == guest->containers.previous;
    bool is_sure = !guest->life || hub_load_relaxed(&guest->life->unsure) == 0;

    return is_single && is_sure ? 0 : container->handle;
}

static int look(struct rapahub_container_id target, struct host_container *container,
                const struct host_chain *chain, struct host_route *out)
{
    const struct host_guest *guest;
    char id[HOST_CONTAINERS_ID_SIZE];

    if (!container)
        return rapahub_fail(RAPAHUB_ENOENT, "", "there is no container %s",
                            host_containers_print(target, id));
    out->held = is_held(container, chain);
    hub_add(out->held ? &container->held : &container->users, 1);
    out->container = container;
    if (host_containers_is_offered(container)) {
        out->methods = host_methods_hold(container->offer ? host_service_methods(container->offer)
                                                          : container->inquiries->methods);
        memcpy(out->name, "host", sizeof "host");
        return 0;
    }
    guest = container->guest;
    out->methods = host_methods_hold(guest->methods);
    memcpy(out->name, guest->name, sizeof out->name);
    out->handle = handle_of(guest, container);
    if (container->state == HOST_CONTAINER_PLUGGED)
        return rapahub_fail(RAPAHUB_EPLUGGED, "", "container %s of %s is plugged",
                            host_containers_print(target, id), guest->name);
    return out->held ? -EAGAIN : look_at_guest(guest, container, out);
}

static bool has_router(const struct host_call *host)
{
    return hub_load_relaxed(&host->router.set) != 0;
}

/* Does the same for a call. A managed container without a lease is refused before its guest is
 * asked, which would refuse it as well: a guest that breaks this rule gets no call by this way.
 * r[impl hub.route.away] */
static int look_for_call(const struct host_call *host, struct rapahub_container_id target, bool raw,
                         const struct host_chain *chain, struct host_route *out)
{
    struct host_container *container = container_of(host, target);
    bool routed = container && container->routed && !raw;
    char id[HOST_CONTAINERS_ID_SIZE];

    if (container && container->inquiries)
        return HOST_ROUTE_AWAY; /* r[impl hub.inquiry.later] */
    if (has_router(host) && (!container || routed))
        return HOST_ROUTE_AWAY;
    if (routed)
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "",
                            "the calls of container %s go to a router, and this host has none",
                            host_containers_print(target, id));
    if (container && container->managed && hub_lease_is_over(&host->process.lease.word))
        return rapahub_fail(RAPAHUB_EFENCED, "hub.lease.call",
                            "container %s takes no calls: the lease of its host is over",
                            host_containers_print(target, id));
    return look(target, container, chain, out);
}

static void clear(struct host_call *host, struct host_route *out)
{
    out->host = host;
    memcpy(out->name, "its router", sizeof "its router");
    out->container = NULL;
    out->life = NULL;
    out->methods = NULL;
    out->uncalled = out->held = out->passes = false;
    out->changes = hub_observe(&HOST_REGISTRY(host)->routes.changes);
}

static void begin(struct host_call *host, struct host_route *out)
{
    clear(host, out);
    host_routes_read(&HOST_REGISTRY(host)->routes);
    out->version = hub_load_relaxed(&HOST_REGISTRY(host)->routes.version);
}

static void end(struct host_call *host, struct rapahub_container_id target, struct host_route *out)
{
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    if (out->uncalled && host_ownership_is_owner(&host->process.owner))
        (void)host->hooks->call(host, target, 0);
}

int host_route_find(struct host_call *host, struct rapahub_container_id target,
                    struct host_route *out)
{
    int r;

    begin(host, out);
    r = look(target, container_of(host, target), NULL, out);
    end(host, target, out);
    return r;
}

int host_route_find_in(struct host_call *host, struct rapahub_container_id target, bool raw,
                       const struct host_chain *chain, struct host_route *out)
{
    int r;

    begin(host, out);
    r = look_for_call(host, target, raw, chain, out);
    end(host, target, out);
    return r;
}

int host_route_find_call(struct host_call *host, struct rapahub_container_id target, bool raw,
                         struct host_route *out)
{
    return host_route_find_in(host, target, raw, NULL, out);
}

/* The chain is looked for only where it counts. */
static int find_in_claimed(struct host_call *host, struct rapahub_container_id target,
                           const struct host_chain_claim *claim, struct host_route *out)
{
    const struct host_chain *chain;
    struct host_chain begins;
    int r = host_route_find_call(host, target, false, out);

    if (!out->held)
        return r;
    chain = host_chains_look(claim, &begins);
    if (!chain)
        return r;
    host_route_drop(out);
    return host_route_find_in(host, target, false, chain, out);
}

/* A service of this host is never elsewhere. Any other container here may be left over, plugged,
 * down or without a lease, so its refusal counts for nothing. r[impl hub.route.uid] */
int host_route_find_claimed(struct host_call *host, struct rapahub_container_id target,
                            const struct host_chain_claim *claim, struct host_route *out,
                            struct rapahub_uid *uid)
{
    int r = find_in_claimed(host, target, claim, out);

    *uid = host_chains_uid(claim);
    if ((uid->origin | uid->number) == 0 || !has_router(host))
        return r;
    return out->container && out->container->offer ? r : HOST_ROUTE_AWAY;
}

int host_route_check_query(struct host_call *host)
{
    return has_router(host) ? 0
                            : rapahub_fail(RAPAHUB_ENOTSUP, "",
                                           "a query is for a router, and this host has none");
}

int host_route_find_own(struct host_call *host, const struct rapahub_call *call,
                        struct host_route *out, struct rapahub_uid *uid)
{
    static const struct host_chain_claim nobody = {NULL, 0};
    bool answers = host_ownership_is_owner(&host->process.owner);

    if (!call->query)
        return host_route_find_claimed(host, call->target, answers ? &host->chain : &nobody, out,
                                       uid);
    *uid = host_chains_uid(answers ? &host->chain : &nobody);
    clear(host, out);
    return host_route_check_query(host) == 0 ? HOST_ROUTE_AWAY : RAPAHUB_ENOTSUP;
}

void host_route_uncount(struct host_call *host, struct host_container *container)
{
    if (host_containers_drop(container))
        host_changes_tell(&host->process.owner);
}

void host_route_drop(struct host_route *route)
{
    if (route->life)
        host_life_drop(route->life);
    if (route->container && route->held)
        hub_add(&route->container->held, UINT32_MAX);
    else if (route->container)
        host_route_uncount(route->host, route->container);
    host_methods_release(&route->methods);
    route->life = NULL;
    route->container = NULL;
}

void host_route_count(const struct host_route *route, bool *counted)
{
    if (!route->held || *counted)
        return;
    *counted = true;
    hub_add(&route->container->held_ever, 1);
}

uint64_t host_route_deadline(const struct host_call *host, const struct rapahub_call *call)
{
    return hub_clock_after(call->timeout_ns ? call->timeout_ns
                                            : host->process.options.call_timeout_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/corks.h"

#include "host/call/call.h"
#include "host/call/route.h"
#include "host/process/guest.h"

/* The cork is removed before the push: a call that another thread sends meanwhile is either in the
 * ring before the push, or its thread sees that the cork is gone and pushes itself. If there is no
 * route to the life now, calls may still have gone out just before, so all guests are pushed.
 * r[impl hub.ring.cork] */
int host_corks_set(struct host_call *host, struct rapahub_container_id target, bool corked)
{
    struct host_route route;
    int r = host_route_find(host, target, &route);

    if (route.container) {
        hub_publish(&route.container->corked, corked);
        r = 0;
    }
    if (!corked && route.life)
        hub_link_push(route.life->connection.link);
    else if (!corked)
        host_corks_push(host);
    host_route_drop(&route);
    return r;
}

bool host_corks_holds(const struct host_container *container)
{
    return hub_load_relaxed(&container->corked) != 0;
}

void host_corks_sent(struct host_call *host, const struct host_container *container,
                     struct host_life *life)
{
    hub_publish(&host->held, 1);
    if (hub_observe(&container->corked) == 0)
        hub_link_push(life->connection.link);
}

/* Only a guest that is ready has received calls. A guest that becomes ready later is pushed by the
 * owner's turns. */
static __attribute__((noinline)) void push_all(struct host_call *host)
{
    if (hub_exchange(&host->held, 0) == 0)
        return;
    host_routes_read(&HOST_REGISTRY(host)->routes);
    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++) {
        const struct host_guest *guest = HOST_REGISTRY(host)->guests[i];

        if (guest && guest->life && host_guest_is_up(guest))
            hub_link_push(guest->life->connection.link);
    }
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
}

void host_corks_push(struct host_call *host)
{
    if (hub_load_relaxed(&host->held) != 0)
        push_all(host);
}

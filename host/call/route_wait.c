/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/route_wait.h"

#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/owner/ownership.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"

int host_route_wait(struct host_call *host, const struct host_route *route, uint64_t deadline_ns)
{
    if (hub_clock_left(deadline_ns) == 0)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s was not ready in time", route->name);
    if (host_ownership_is_owner(&host->process.owner)) {
        int r = host_wait_until(&host->process.owner, deadline_ns);

        return r < 0 ? r : 0;
    }
    host_corks_push(host);
    if (route->uncalled && host->hooks->call(host, route->container->id, deadline_ns) < 0)
        return RAPAHUB_ETIMEDOUT;
    host_routes_wait(&HOST_REGISTRY(host)->routes, route->changes, deadline_ns);
    return 0;
}

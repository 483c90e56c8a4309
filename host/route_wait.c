/* SPDX-License-Identifier: Apache-2.0 */
#include "host/route_wait.h"

#include "host/caller.h"
#include "host/corks.h"
#include "host/demand.h"
#include "host/host.h"
#include "host/wait.h"
#include "hub/base/clock.h"

int host_route_wait(struct rapahub_host *host, const struct host_route *route, uint64_t deadline_ns)
{
    if (hub_clock_left(deadline_ns) == 0)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s was not ready in time", route->name);
    if (host_caller_is_owner(host)) {
        int r = host_wait_until(host, deadline_ns);

        return r < 0 ? r : 0;
    }
    host_corks_push(host);
    if (route->uncalled && host_demand_call(host, route->container->id, deadline_ns) < 0)
        return RAPAHUB_ETIMEDOUT;
    host_routes_wait(&host->routes, route->changes, deadline_ns);
    return 0;
}

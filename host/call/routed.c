/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/routed.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/asyncs.h"

/* Counts a call of the host itself. A request of a guest was counted when it was made.
 * r[impl hub.route.bound] */
static int count(struct host_asyncs *asyncs, const struct host_async *async)
{
    bool full;

    if (async->foreign)
        return 0;
    hub_mutex_lock(&asyncs->lock);
    full = asyncs->routed == HOST_ROUTED_OWN_MAX;
    if (!full)
        asyncs->routed++;
    hub_mutex_unlock(&asyncs->lock);
    return full ? rapahub_fail(RAPAHUB_EBUSY, "hub.route.bound",
                               "%d calls of this host are at its router", HOST_ROUTED_OWN_MAX)
                : 0;
}

static struct host_routed *make(struct host_async *async, const struct host_routed_origin *origin)
{
    struct host_routed *routed = calloc(1, sizeof *routed);

    if (!routed)
        return NULL;
    routed->async = async;
    routed->origin = *origin;
    if (origin->query) {
        routed->query = *origin->query;
        routed->origin.query = &routed->query;
    }
    hub_list_init(&routed->link);
    return routed;
}

int host_routed_add(struct host_asyncs *asyncs, struct host_async *async,
                    const struct host_routed_origin *origin)
{
    struct host_routed *routed = make(async, origin);
    int r = routed ? count(asyncs, async)
                   : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call to a router");

    if (r < 0)
        free(routed);
    else
        async->routed = routed;
    return r;
}

void host_routed_free(struct host_asyncs *asyncs, struct host_async *async)
{
    struct host_routed *routed = async->routed;

    if (!routed)
        return;
    async->routed = NULL;
    if (!async->foreign) {
        hub_mutex_lock(&asyncs->lock);
        asyncs->routed--;
        hub_mutex_unlock(&asyncs->lock);
    }
    free(routed->answer);
    free(routed);
}

void host_routed_end(struct host_router *router, struct host_routed *routed)
{
    routed->state = HOST_ROUTED_ENDED;
    hub_list_remove(&routed->link);
    hub_list_append(&router->ended, &routed->link);
    hub_store_relaxed(&router->ends, hub_load_relaxed(&router->ends) + 1);
}

/* While the router is being given the call, it is in no list: host_router_take looks itself. */
void host_routed_cancel(struct host_router *router, struct host_async *async)
{
    struct host_routed *routed = async->routed;

    if (routed && routed->state == HOST_ROUTED_TAKEN && !hub_list_empty(&routed->link))
        host_routed_end(router, routed);
}

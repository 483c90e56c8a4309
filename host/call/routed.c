/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/routed.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/asyncs.h"
#include "host/call/chains.h"
#include "hub/base/clock.h"

/* Counts a call of the host itself, or one as bytes, and ties the record to it. A request of a
 * guest here was counted when it was made. A cancel may look at the call meanwhile.
 * r[impl hub.route.bound] */
static int tie(struct host_asyncs *asyncs, struct host_async *async, struct host_routed *routed)
{
    bool full;

    hub_mutex_lock(&asyncs->lock);
    full = routed->counted && asyncs->routed == HOST_ROUTED_OWN_MAX;
    if (!full) {
        asyncs->routed += routed->counted;
        async->routed = routed;
    }
    hub_mutex_unlock(&asyncs->lock);
    return full ? rapahub_fail(RAPAHUB_EBUSY, "hub.route.bound",
                               "%d calls of this host are at its router", HOST_ROUTED_OWN_MAX)
                : 0;
}

static void forget(struct host_routed *routed)
{
    host_routed_streams_release(&routed->origin.ends);
    free(routed->answer);
    free(routed);
}

/* r[impl hub.route.from] */
struct host_routed_origin host_routed_origin_of(const struct host_async *async)
{
    return (struct host_routed_origin){.uid = async->seat ? async->seat->uid : async->uid,
                                       .from = async->from,
                                       .from_pool = async->from_pool};
}

static struct host_routed *make(struct host_async *async, const struct host_routed_origin *origin)
{
    struct host_routed *routed = calloc(1, sizeof *routed);

    if (!routed)
        return NULL;
    routed->async = async;
    routed->origin = *origin;
    routed->origin.ends = host_routed_streams_hold(origin->ends);
    routed->counted = !async->foreign || async->raw;
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
    int r = routed ? tie(asyncs, async, routed)
                   : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call to a router");

    if (r < 0 && routed)
        forget(routed);
    return r;
}

static void release(struct host_asyncs *asyncs, struct host_routed *routed)
{
    if (routed->counted) {
        hub_mutex_lock(&asyncs->lock);
        asyncs->routed--;
        hub_mutex_unlock(&asyncs->lock);
    }
    forget(routed);
}

/* The call may still be in the table, where an answer or a cancel finds it. */
void host_routed_free(struct host_asyncs *asyncs, struct host_async *async)
{
    struct host_routed *routed;

    hub_mutex_lock(&asyncs->lock);
    routed = async->routed;
    async->routed = NULL;
    hub_mutex_unlock(&asyncs->lock);
    if (routed)
        release(asyncs, routed);
}

uint64_t host_routed_due(const struct host_routed *routed)
{
    const struct host_routed_ends *ends = routed->origin.ends;
    uint64_t moved = ends ? hub_load_relaxed64(&ends->moved_ns) : 0;
    uint64_t due = moved == 0 ? 0 : moved + routed->origin.patience_ns;

    return due > routed->async->deadline_ns ? due : routed->async->deadline_ns;
}

void host_routed_lend(struct host_router *router, struct host_asyncs *asyncs,
                      struct host_async *async)
{
    struct host_routed *routed = async->routed;

    if (!routed->origin.ends)
        return;
    hub_mutex_lock(&asyncs->lock);
    if (!routed->returned) {
        async->routed = NULL;
        routed->number = async->number;
        routed->async = NULL;
        hub_list_append(&router->lent, &routed->link);
    }
    hub_mutex_unlock(&asyncs->lock);
}

static struct host_routed *find_lent(struct host_router *router, uint64_t number)
{
    HUB_LIST_EACH (&router->lent, link) {
        struct host_routed *routed = HUB_LIST_ITEM(link, struct host_routed, link);

        if (routed->number == number)
            return routed;
    }
    return NULL;
}

bool host_routed_take_back(struct host_router *router, struct host_asyncs *asyncs, uint64_t number)
{
    struct host_routed *routed;

    hub_mutex_lock(&asyncs->lock);
    routed = find_lent(router, number);
    if (routed)
        hub_list_remove(&routed->link);
    hub_mutex_unlock(&asyncs->lock);
    if (routed)
        release(asyncs, routed);
    return routed != NULL;
}

void host_routed_take_back_all(struct host_router *router, struct host_asyncs *asyncs)
{
    struct hub_list *link;

    do {
        hub_mutex_lock(&asyncs->lock);
        link = hub_list_pop(&router->lent);
        hub_mutex_unlock(&asyncs->lock);
        if (link)
            release(asyncs, HUB_LIST_ITEM(link, struct host_routed, link));
    } while (link);
}

static bool is_same(struct rapahub_guest_id a, struct rapahub_guest_id b)
{
    return a.group == b.group && a.epoch == b.epoch && a.peer == b.peer;
}

/* A guest that makes and cancels requests may outrun a router that answers late. The list is short:
 * it has so many of each guest, and what was open. r[impl hub.route.bound] */
int host_routed_check_lent(struct host_router *router, struct host_asyncs *asyncs,
                           struct rapahub_guest_id from)
{
    unsigned count = 0;

    if (from.peer == 0)
        return 0;
    hub_mutex_lock(&asyncs->lock);
    HUB_LIST_EACH (&router->lent, link)
        count += is_same(HUB_LIST_ITEM(link, struct host_routed, link)->origin.from, from);
    hub_mutex_unlock(&asyncs->lock);
    return count < HOST_ROUTED_LENT_MAX
               ? 0
               : rapahub_fail(RAPAHUB_EBUSY, "hub.route.bound",
                              "the router still has the streams of %u ended requests of the guest",
                              count);
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

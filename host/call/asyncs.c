/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/asyncs.h"

#include <stdlib.h>
#include <string.h>

#include "host/call/async_pieces.h"
#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/call/parked_calls.h"
#include "host/call/request.h"
#include "host/call/route.h"
#include "host/call/routed.h"
#include "host/call/services.h"
#include "host/owner/changes.h"
#include "host/owner/ownership.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define FULL_AGAIN (2 * HUB_MILLISECOND)

int host_asyncs_open(struct host_asyncs *asyncs)
{
    hub_mutex_init(&asyncs->lock, HUB_MUTEX_ASYNCS);
    host_parked_calls_init(&asyncs->parked);
    return host_async_table_open(&asyncs->table);
}

void host_asyncs_close(struct host_asyncs *asyncs)
{
    host_async_pieces_close(asyncs);
    host_async_table_close(&asyncs->table);
    hub_mutex_fini(&asyncs->lock);
}

/* ---- from begin to end ---- */

void host_asyncs_uncount(struct host_async *async)
{
    struct host_container *container = async->container;

    async->container = NULL;
    if (container &&
        (async->mine ? host_containers_drop_own(container) : host_containers_drop(container)))
        host_changes_tell(HOST_OWNER(async->host));
}

/* The container is released before `done` runs: `done` may wait for the thread that waits until the
 * container is unused. A cancel finds the call until it is freed, and is harmless: its life lasts
 * as long as the turn. */
void host_asyncs_end(struct host_async *async, int code, struct hub_answer *answer)
{
    host_asyncs_uncount(async);
    async->done(async, code, answer);
    host_async_pieces_free(async);
}

void host_asyncs_answered(void *user, int code, struct hub_answer *answer)
{
    struct host_async *async = user;

    (void)answer;
    if (async->foreign)
        hub_add(&async->life->foreign, UINT32_MAX); /* subtracts one */
    if (code < 0)
        host_life_explain(async->life, code, async->method);
    host_asyncs_end(async, code, &async->answer);
}

/* Sets the call's number. A cancel that came before is carried out now. */
static void note_call(struct host_call *host, uint64_t number, uint64_t call)
{
    struct host_asyncs *asyncs = &host->asyncs;
    struct host_async *async;
    bool cancel = false;

    hub_mutex_lock(&asyncs->lock);
    async = host_async_table_find(&asyncs->table, number);
    if (async) {
        async->call = call;
        cancel = async->cancelled;
    }
    hub_mutex_unlock(&asyncs->lock);
    if (cancel)
        host_asyncs_cancel(host, number);
}

void host_asyncs_bound(struct host_async *async, struct host_life *life)
{
    hub_mutex_lock(&async->host->asyncs.lock);
    async->life = life;
    async->call = 0;
    hub_mutex_unlock(&async->host->asyncs.lock);
}

void host_asyncs_begun(struct host_async *async, uint64_t call)
{
    note_call(async->host, async->number, call);
}

int host_asyncs_cancelled(struct host_async *async)
{
    bool cancelled;

    hub_mutex_lock(&async->host->asyncs.lock);
    cancelled = async->cancelled;
    hub_mutex_unlock(&async->host->asyncs.lock);
    return cancelled ? rapahub_fail(RAPAHUB_ECANCELED, "", "%s was cancelled", async->method) : 0;
}

/* A call as bytes may have a uid, which its guest learns. r[impl hub.route.uid] */
static size_t head_of(const struct host_async *async, uint64_t handle, uint64_t chain, uint8_t *to)
{
    const uint64_t uid[] = {async->uid.origin, async->uid.number};
    const struct hub_metadata metadata = {
        .container = handle, .chain = chain, .uid = (const uint8_t *)uid};
    struct hub_writer writer;

    _Static_assert(sizeof uid == HUB_METADATA_UID, "its size");
    if ((uid[0] | uid[1]) == 0)
        return host_request_head(handle, chain, to);
    hub_writer_init(&writer, to, HOST_REQUEST_HEAD_MAX);
    hub_metadata_write(&writer, &metadata);
    return writer.size;
}

/* Sends the call by the route that was found. After a success it may have ended already. */
static int send(struct host_call *host, struct host_async *async, struct host_route *route)
{
    struct host_container *container = route->container;
    struct host_life *life = route->life;
    bool more = host_corks_holds(container), foreign = async->foreign;
    struct host_chain_seat *seat = async->seat;
    uint64_t number = async->number, call = 0;
    uint64_t chain = seat ? host_chains_take(seat, life) : 0;
    uint8_t head[HOST_REQUEST_HEAD_MAX];
    const struct hub_call wanted = {
        .method_id = async->method_id,
        .payload = {.head = {head, head_of(async, route->handle, chain, head)},
                    .tail = async->arguments,
                    .more = more,
                    .aligned = async->aligned},
        .deadline_ns = async->deadline_ns,
        .answer = &async->answer,
        .done = host_asyncs_answered,
        .user = async,
        .at_once = true,
    };
    char method[sizeof async->method];
    int r;

    memcpy(method, async->method, sizeof method);
    async->life = life;
    async->container = container;
    if (seat)
        seat->container = container;
    hub_add(&container->users, 1); /* the count of the route stays */
    r = hub_calls_begin(life->connection.calls, &wanted, &call);
    if (r == 0) {
        if (seat) /* this is the owner, which alone reports the end */
            host_chains_note(seat, call);
        if (foreign)
            hub_add(&life->foreign, 1);
        note_call(host, number, call);
        if (more)
            host_corks_sent(host, container, life);
        return 0;
    }
    if (seat)
        host_chains_untake(seat);
    host_route_uncount(host, container);
    async->container = NULL;
    async->full = r == -EAGAIN;
    return async->full ? r : host_life_explain(life, r, method);
}

/* Parks the call for a turn, which sends it or runs the service. It is refused once the host has
 * looked at the parked calls for the last time: its end would never be reported. */
static int park(struct host_call *host, struct host_async *async)
{
    bool closed;

    hub_mutex_lock(&host->asyncs.lock);
    closed = host->asyncs.closed;
    if (!closed) {
        host_parked_calls_append(&host->asyncs.parked, async);
        hub_store_relaxed(&host->asyncs.waiting, hub_load_relaxed(&host->asyncs.waiting) + 1);
    }
    hub_mutex_unlock(&host->asyncs.lock);
    if (closed)
        return rapahub_fail(RAPAHUB_ESTALE, "", "%s was not sent: the host ends", async->method);
    host_wait_again(HOST_OWNER(host));
    return 0;
}

/* Returns whether an older call to the same container waits for space, or guests have as many calls
 * open there as they may. r[impl sec.call.share] */
static bool must_queue(struct host_asyncs *asyncs, const struct host_async *async,
                       const struct host_life *life)
{
    bool found = async->foreign && hub_load_relaxed(&life->foreign) >= HOST_ASYNCS_FOREIGN_MAX;

    if (found)
        return true;
    hub_mutex_lock(&asyncs->lock);
    found = host_parked_calls_queue(&asyncs->parked, async);
    hub_mutex_unlock(&asyncs->lock);
    return found;
}

/* Checks that a guest's request may be sent to this target. -EAGAIN: its methods are not known yet.
 * A request, or a call as bytes, whose streams were not acquired, because the methods were unknown
 * when it arrived, is refused: in its arguments may be the channels of other calls.
 * r[impl sec.call.own] */
static int check_declared(const struct host_async *async, const struct host_route *where)
{
    const struct hub_signature *signature;

    if (!async->foreign && !async->raw)
        return 0;
    if (!where->methods)
        return async->foreign ? -EAGAIN : 0;
    signature = host_methods_of_id(where->methods, async->method_id);
    if (!signature)
        return async->foreign
                   ? rapahub_fail(RAPAHUB_ENOMETHOD, "", "%s has no method of this id", where->name)
                   : 0;
    if (!async->marks && host_methods_takes_streams(signature->types + 1))
        return host_methods_refuse_streams();
    return 0;
}

/* Returns 0 if the call was sent, -EAGAIN if it must be parked, HOST_ROUTE_AWAY if the router must
 * get it, or a failure; nothing happened then. */
static int route(struct host_call *host, struct host_async *async)
{
    struct host_route where;
    const struct host_chain *chain = async->seat ? async->seat->chain : NULL;
    int r = host_route_find_in(host, async->target, async->raw, chain, &where);

    async->full = false;
    host_route_count(&where, &async->held);
    if (r == 0)
        r = check_declared(async, &where);
    if (r == 0 && where.life && must_queue(&host->asyncs, async, where.life)) {
        async->full = true;
        r = -EAGAIN;
    } else if (r == 0 && where.life)
        r = send(host, async, &where);
    else if (r == 0 || r == -EAGAIN)
        r = -EAGAIN;
    host_route_drop(&where);
    return r;
}

/* Enters the call in the table, unless it is a piece, which is entered already. */
static int enter_any(struct host_call *host, struct host_async *async)
{
    bool entered = true;

    if (async->number != 0)
        return 0;
    async->host = host;
    hub_list_init(&async->parked);
    hub_mutex_lock(&host->asyncs.lock);
    entered = host_async_table_enter(&host->asyncs.table, async);
    hub_mutex_unlock(&host->asyncs.lock);
    return entered ? 0 : host_async_pieces_refuse();
}

/* Enters a raw call in the chain in which it comes. */
static int join_chain(struct host_call *host, struct host_async *async)
{
    if (async->seat || (async->outer | async->uid.origin | async->uid.number) == 0)
        return 0;
    async->seat = host_chains_join(host, async->outer, async->uid);
    return async->seat ? 0 : RAPAHUB_ENOMEM;
}

/* Says whether a raw call may go out at once: its owner makes it, and no earlier one waits. */
static bool goes_at_once(struct host_call *host, const struct host_async *async)
{
    return async->raw && !async->routed && hub_observe(&host->asyncs.waiting) == 0 &&
           host_ownership_is_owner(&host->process.owner);
}

/* Returns as `route` does. The owner knows the chains, and gives calls to the router. */
static int begin(struct host_call *host, struct host_async *async)
{
    int r;

    if (async->marks)
        return host->hooks->stream(host, async);
    if ((async->routed || async->raw) && !goes_at_once(host, async))
        return -EAGAIN;
    r = join_chain(host, async);
    return r < 0 ? r : route(host, async);
}

int host_asyncs_begin(struct host_call *host, struct host_async *async, uint64_t *number)
{
    int r = enter_any(host, async);

    if (r < 0) {
        host_async_pieces_free(async);
        return r;
    }
    *number = async->number;
    r = begin(host, async);
    if (r == HOST_ROUTE_AWAY || r == -EAGAIN || r == RAPAHUB_ESTALE)
        r = park(host, async);
    if (r < 0)
        host_async_pieces_free(async);
    return r;
}

/* A call with streams waits in its own thread for a guest that is not ready. Such threads look
 * again, also for a cancel. */
static void wake_waiting(struct host_call *host)
{
    host_routes_announce(&HOST_REGISTRY(host)->routes);
}

void host_asyncs_cancel(struct host_call *host, uint64_t number)
{
    struct host_asyncs *asyncs = &host->asyncs;
    struct host_life *life = NULL;
    struct host_async *async;
    uint64_t call = 0;

    hub_mutex_lock(&asyncs->lock);
    async = host_async_table_find(&asyncs->table, number);
    if (async) {
        async->cancelled = true;
        call = async->call;
        if (call != 0)
            life = async->life;
        if (life)
            host_life_hold(life);
        host_routed_cancel(&host->router, async);
    }
    hub_mutex_unlock(&asyncs->lock);
    if (!async)
        return;
    if (life) {
        hub_calls_cancel(life->connection.calls, call);
        host_life_drop(life);
    }
    wake_waiting(host);
    host_loop_wake(&host->process.owner.loop);
}

void host_asyncs_give_up(struct host_call *host)
{
    struct host_asyncs *asyncs = &host->asyncs;

    hub_mutex_lock(&asyncs->lock);
    host_async_table_give_up(&asyncs->table);
    hub_mutex_unlock(&asyncs->lock);
    wake_waiting(host);
}

/* ---- parked ---- */

/* Returns the first call of the list, removed from it; NULL: none is left. */
static struct host_async *take_parked(struct host_asyncs *asyncs, struct hub_list *round)
{
    struct hub_list *link;

    hub_mutex_lock(&asyncs->lock);
    link = hub_list_pop(round);
    hub_mutex_unlock(&asyncs->lock);
    return link ? HUB_LIST_ITEM(link, struct host_async, parked) : NULL;
}

static void note_looked(struct host_asyncs *asyncs)
{
    hub_mutex_lock(&asyncs->lock);
    hub_store_relaxed(&asyncs->waiting, hub_load_relaxed(&asyncs->waiting) - 1);
    hub_mutex_unlock(&asyncs->lock);
}

static bool serve_offer(struct host_call *host, struct host_async *async)
{
    struct hub_answer answer = {0};
    struct host_route where;
    int r = host_route_find(host, async->target, &where);
    bool is_offer = r == 0 && where.container->offer;

    if (is_offer) {
        const struct host_services_request request = {async->method_id, async->arguments, NULL};

        r = host_services_answer(host, where.container, &request, &answer);
        host_asyncs_end(async, r, &answer);
        hub_responses_fini(&answer);
    }
    host_route_drop(&where);
    return is_offer;
}

/* Returns as `route` does. 0 also if a service has served the call. */
static int send_now(struct host_call *host, struct host_async *async)
{
    int r = host_asyncs_cancelled(async);

    if (r < 0)
        return r;
    if (hub_clock_left(async->deadline_ns) == 0)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s was not sent in time", async->method);
    r = join_chain(host, async);
    if (r < 0)
        return r;
    if (async->routed)
        return HOST_ROUTE_AWAY;
    return serve_offer(host, async) ? 0 : route(host, async);
}

static int serve_one(struct host_call *host, struct host_async *async, int r)
{
    if (r >= 0)
        return 1;
    if (r == -EAGAIN || r == RAPAHUB_ESTALE) {
        hub_mutex_lock(&host->asyncs.lock);
        host_parked_calls_append(&host->asyncs.parked, async);
        hub_store_relaxed(&host->asyncs.waiting, hub_load_relaxed(&host->asyncs.waiting) + 1);
        hub_mutex_unlock(&host->asyncs.lock);
        return 0;
    }
    host_asyncs_end(async, r, NULL);
    return 1;
}

/* Looks at a call that may be parked again. Until that is known, it is counted in `waiting`. What
 * the router begins for a call that is its own goes out at once. */
static int look_at(struct host_call *host, struct host_async *async)
{
    int r = send_now(host, async), count = r == HOST_ROUTE_AWAY ? 1 : serve_one(host, async, r);

    note_looked(&host->asyncs);
    if (r == HOST_ROUTE_AWAY)
        host->hooks->away(host, async);
    return count;
}

int host_asyncs_serve(struct host_call *host)
{
    struct host_asyncs *asyncs = &host->asyncs;
    struct hub_list round;
    struct host_async *async;
    int count = 0;

    if (!host_asyncs_queue(asyncs))
        return 0;
    hub_list_init(&round);
    hub_mutex_lock(&asyncs->lock);
    host_parked_calls_take_all(&asyncs->parked, &round);
    hub_mutex_unlock(&asyncs->lock);
    while ((async = take_parked(asyncs, &round)))
        count += look_at(host, async);
    return count;
}

uint64_t host_asyncs_next_deadline(struct host_call *host)
{
    uint64_t next;
    bool full;

    if (!host_asyncs_queue(&host->asyncs))
        return HUB_NEVER;
    hub_mutex_lock(&host->asyncs.lock);
    next = host_parked_calls_deadline(&host->asyncs.parked, &full);
    hub_mutex_unlock(&host->asyncs.lock);
    if (full && hub_clock_after(FULL_AGAIN) < next)
        next = hub_clock_after(FULL_AGAIN);
    return next;
}

void host_asyncs_end_parked(struct host_call *host, int code, const char *why)
{
    struct host_asyncs *asyncs = &host->asyncs;
    struct hub_list round;

    hub_list_init(&round);
    hub_mutex_lock(&asyncs->lock);
    asyncs->closed = true;
    host_parked_calls_take_all(&asyncs->parked, &round);
    hub_mutex_unlock(&asyncs->lock);
    for (struct host_async *async; (async = take_parked(asyncs, &round));) {
        note_looked(&host->asyncs);
        rapahub_fail(code, "", "%s: %s", async->method, why);
        host_asyncs_end(async, code, NULL);
    }
}

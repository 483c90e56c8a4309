/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/streaming.h"

#include "host/call/call.h"
#include "host/call/route.h"
#include "host/call/route_wait.h"
#include "host/call/routed_call.h"
#include "host/call/upcalls.h"
#include "host/owner/ownership.h"
#include "host/owner/verdict.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"
#include "hub/wire/response.h"

#define SLICE_MS   10 /* the owner's, between two checks of states that no event reports */
#define WAIT_SLICE (100 * HUB_MILLISECOND) /* a thread's, between two checks for a cancel */
#define NOTICE     (100 * HUB_MILLISECOND) /* within which an owner notices a death */

/* ---- the owner ---- */

static bool is_owner(void *user)
{
    return host_ownership_is_owner(&(((struct host_life *)user)->host)->owner);
}

/* The owner serves all its guests while a method of a service reads or writes a stream. */
static int wait_in_turns(void *user, struct hub_link *link, const struct hub_link_until *until)
{
    struct host_life *life = user;
    uint64_t slice = hub_clock_after(SLICE_MS * HUB_MILLISECOND);

    while (!until->done(until->user) && !hub_link_closed(link) &&
           hub_clock_left(until->deadline_ns) > 0) {
        uint64_t end = until->deadline_ns < slice ? until->deadline_ns : slice;
        int r = host_wait_until(&life->host->owner, end);

        if (r < 0)
            return r;
        slice = hub_clock_after(SLICE_MS * HUB_MILLISECOND);
    }
    return 0;
}

int host_streaming_connect(struct host_call *host, struct host_life *life)
{
    const struct hub_channels_manner manner = {is_owner, wait_in_turns, life};

    life->host = &host->process;
    return host_life_connect(life, host_upcalls_streams, &manner);
}

/* ---- a call that its caller waits for ---- */

static bool is_good(const struct hub_answer *answer)
{
    struct hub_response response;
    struct hub_reader reader;

    hub_reader_init(&reader, answer->data, answer->size);
    return hub_response_decode(&reader, &response) == 0 && response.kind == HUB_RESPONSE_OK;
}

/* Waits until the bytes that the method wrote are written to the caller's streams; the owner serves
 * meanwhile. The call itself is over, so a cancel has effect only here. */
static int settle(struct host_call *host, const struct host_request *exchange,
                  struct hub_streams *streams)
{
    bool owner = host_ownership_is_owner(&host->process.owner);

    while (!hub_streams_settle(streams, owner ? hub_clock_now() : hub_clock_after(WAIT_SLICE))) {
        if (exchange->is_cancelled && exchange->is_cancelled(exchange->user)) {
            hub_streams_close(streams, false);
            return RAPAHUB_ECANCELED;
        }
        if (owner && host_wait_turn(&host->process.owner, SLICE_MS) < 0)
            return 0;
    }
    return 0;
}

/* Wakes the owner, which is in its loop while the last bytes are written. */
static void wake_owner(void *user)
{
    host_loop_wake(&((struct host_call *)user)->process.owner.loop);
}

int host_streaming_run(struct host_call *host, const struct host_request *exchange,
                       const struct hub_stream_marks *marks, struct hub_answer *answer)
{
    const struct hub_streams_order order = {
        .connection = &exchange->life->connection,
        .marks = marks,
        .arguments = exchange->arguments,
        .deadline_ns = exchange->deadline_ns,
        .patience_ns = hub_clock_left(exchange->deadline_ns),
        .on_end = host_ownership_is_owner(&host->process.owner) ? wake_owner : NULL,
        .user = host,
        .moved = exchange->moved};
    struct host_request with = *exchange;
    struct host_verdict verdict = {0};
    struct hub_streams *streams;
    int r = hub_streams_open(&order, &streams);
    int failure, settled;

    if (r < 0)
        return host_life_explain(exchange->life, r, exchange->method);
    with.streams = streams;
    with.arguments = hub_streams_arguments(streams);
    r = host_request_run(host, &with, answer);
    if (r < 0)
        host_verdict_take(&verdict, r);
    hub_streams_close(streams, r == 0 && is_good(answer));
    settled = settle(host, exchange, streams);
    failure = hub_streams_finish(&streams);
    if (failure < 0 && r != RAPAHUB_ESTALE)
        return failure;
    if (settled < 0 && r == 0)
        return rapahub_fail(settled, "", "%s was cancelled", exchange->method);
    return r < 0 ? host_verdict_give(&verdict) : 0;
}

/* ---- asynchronous calls ---- */

/* An asynchronous call on the stack of its thread, until the owner has reported the end. */
struct operation {
    struct host_async *async;
    struct hub_answer answer;
    struct host_verdict verdict;
    int code;
};

static void on_begun(void *user, uint64_t number)
{
    host_asyncs_begun(user, number);
}

static bool is_cancelled(void *user)
{
    return host_asyncs_cancelled(user) < 0;
}

/* Has the router carry the call out: its container is elsewhere, or it says so itself. */
static int call_router(struct host_async *async, struct hub_answer *answer)
{
    struct host_routed_request request = {.target = async->target,
                                          .method_id = async->method_id,
                                          .arguments = async->arguments,
                                          .marks = async->marks,
                                          .foreign = async->foreign,
                                          .deadline_ns = async->deadline_ns,
                                          .method = async->method,
                                          .is_cancelled = is_cancelled,
                                          .user = async};

    request.origin = async->routed ? async->routed->origin : host_routed_origin_of(async);
    return host_routed_call_run(async->host, &request, answer);
}

/* A cancel before the look that `route` is of may not have been seen, and one after it ends the
 * wait. */
static int wait_for_route(struct host_async *async, const struct host_route *route)
{
    int r = host_asyncs_cancelled(async);

    if (r == 0)
        r = host_route_wait(async->host, route, async->deadline_ns) < 0 ? RAPAHUB_ETIMEDOUT
                                                                        : -EAGAIN;
    return r;
}

/* Tries the call once, here or by the router. */
static int try_call(struct host_async *async, struct host_route *route, struct hub_answer *answer,
                    bool *away)
{
    struct host_call *host = async->host;
    struct host_request to = {.method_id = async->method_id,
                              .arguments = async->arguments,
                              .deadline_ns = async->deadline_ns,
                              .method = async->method,
                              .moved = async->raw ? &async->moved : NULL,
                              .on_begun = on_begun,
                              .is_cancelled = is_cancelled,
                              .user = async};
    int r = host_route_find_call(host, async->target, async->raw, route);

    host_route_count(route, &async->held);
    *away = async->routed || r == HOST_ROUTE_AWAY;
    if (*away)
        return call_router(async, answer);
    if (r == -EAGAIN)
        return wait_for_route(async, route);
    if (r < 0)
        return r;
    if (!route->life)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "%s has streams and is now served by the host",
                            async->method);
    to.life = route->life;
    to.container = route->handle;
    host_asyncs_bound(async, route->life);
    r = host_streaming_run(host, &to, async->marks, answer);
    host_asyncs_bound(async, NULL);
    return r;
}

static int tell_end(struct host_owner *owner, void *argument)
{
    struct operation *operation = argument;

    (void)owner;
    if (operation->code < 0)
        (void)host_verdict_give(&operation->verdict);
    host_asyncs_end(operation->async, operation->code, &operation->answer);
    return 0;
}

/* Returns whether the call is to be tried again: nothing was executed. */
static bool goes_again(struct host_call *host, const struct host_route *route, int r)
{
    return r == -EAGAIN ||
           (r == RAPAHUB_ESTALE && host_route_wait(host, route, hub_clock_after(NOTICE)) == 0);
}

/* Tries the call once. Returns true if the call has ended and the owner has reported it. The answer
 * is read while the route still holds the life. The answer of the router is the end, whatever it
 * says: it gets no call twice. r[impl hub.route.once] */
static bool carry_out(struct operation *operation)
{
    struct host_async *async = operation->async;
    struct host_call *host = async->host;
    struct host_route route = {0};
    bool away = false, again;
    int r = host_asyncs_cancelled(async);

    if (r == 0)
        r = try_call(async, &route, &operation->answer, &away);
    again = !away && goes_again(host, &route, r);
    if (!again) {
        operation->code = r;
        if (r < 0)
            host_verdict_take(&operation->verdict, r);
        async->life = route.life;
        (void)host_threads_ask(&host->process.owner, tell_end, operation, HUB_NEVER);
    }
    host_route_drop(&route);
    return !again;
}

static void run(void *user)
{
    struct operation operation = {.async = user};
    struct host_call *host = operation.async->host;

    rapahub_clear_error();
    while (!carry_out(&operation))
        continue;
    hub_responses_fini(&operation.answer);
    hub_add(&host->streaming, UINT32_MAX);
}

int host_streaming_start(struct host_call *host, struct host_async *async)
{
    int r;

    hub_add(&host->streaming, 1);
    r = hub_thread_pool_run(&host->waiters, run, async);
    if (r < 0) {
        hub_add(&host->streaming, UINT32_MAX);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no thread for a call with streams: %s",
                            rapahub_error_text(r));
    }
    return 0;
}

void host_streaming_end(struct host_call *host)
{
    host_asyncs_give_up(host);
    while (hub_observe(&host->streaming) != 0)
        if (host_wait_turn(&host->process.owner, 1) < 0)
            return;
    hub_thread_pool_fini(&host->waiters);
}

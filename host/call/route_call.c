/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/route_call.h"

#include "host/call/cached_call.h"
#include "host/call/call.h"
#include "host/call/loans.h"
#include "host/call/prepared.h"
#include "host/call/request.h"
#include "host/call/route_cache.h"
#include "host/call/route_wait.h"
#include "host/call/routed_call.h"
#include "host/call/services.h"
#include "host/call/streaming.h"
#include "host/owner/forked.h"
#include "hub/base/clock.h"

#define NOTICE (100 * HUB_MILLISECOND) /* within which an owner notices a death */

/* The limits of one call, over all its tries. */
struct patience {
    uint64_t deadline_ns;
    uint64_t notice_ns; /* 0: its link was not found closed */
    bool held;          /* it was held, and is counted */
    struct rapahub_uid uid;
};

/* Waits a moment if the link has closed: the owner may not have noticed yet what follows. Returns
 * whether the call is to be tried again. */
static bool look_again(struct host_call *host, struct host_route *route, struct patience *patience)
{
    if (patience->notice_ns == 0)
        patience->notice_ns = hub_clock_after(NOTICE);
    if (hub_clock_left(patience->notice_ns) > 0 &&
        host_route_wait(host, route, patience->notice_ns) == 0)
        return true;
    host_life_explain(route->life, RAPAHUB_ESTALE, "the call");
    return false;
}

static int call_guest(struct host_call *host, const struct host_route *route,
                      const struct host_prepared *prepared, uint64_t deadline, void *result)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    const struct host_request exchange = {.life = route->life,
                                          .method_id = prepared->method_id,
                                          .container = route->handle,
                                          .target = route->container,
                                          .arguments = prepared->arguments,
                                          .loan = prepared->loan,
                                          .apart = prepared->apart,
                                          .aligned = prepared->aligned,
                                          .view = prepared->view,
                                          .deadline_ns = deadline,
                                          .method = prepared->name};
    struct hub_answer answer = host_caller_answer(caller);
    int r;

    host_caller_hide(caller); /* so that its slot is free for this answer */
    r = prepared->marks.count > 0 ? host_streaming_run(host, &exchange, &prepared->marks, &answer)
                                  : host_request_run(host, &exchange, &answer);

    if (r == 0)
        r = host_request_decode(route->life, &answer, prepared->name, prepared->result, result);
    host_caller_show_of(caller, &answer, route->life);
    if (r == RAPAHUB_ENOMETHOD)
        return host_methods_refuse(route->methods, route->name, prepared->name);
    return r;
}

/* Tries the call once. -EAGAIN: look again. HOST_ROUTE_AWAY: it is for the router. */
static int try_call(struct host_call *host, const struct rapahub_call *call,
                    struct patience *patience, struct host_route *route, void *result)
{
    struct host_prepared prepared;
    uint64_t deadline = patience->deadline_ns;
    int r = host_route_find_own(host, call, route, &patience->uid);

    host_route_count(route, &patience->held);
    if (r == -EAGAIN)
        return host_route_wait(host, route, deadline) < 0 ? RAPAHUB_ETIMEDOUT : -EAGAIN;
    if (r != 0)
        return r;
    host_route_cache_note(host, route);
    r = host_prepared_make(host, call, route, true, &prepared);
    if (r == 0 && route->container->offer)
        r = host_services_call(host, route->container, &prepared, deadline, result);
    else if (r == 0)
        r = call_guest(host, route, &prepared, deadline, result);
    host_prepared_release(&prepared);
    return r;
}

static __attribute__((noinline)) int find_and_call(struct host_call *host,
                                                   const struct rapahub_call *call, void *result)
{
    struct patience patience = {.deadline_ns = host_route_deadline(host, call)};
    struct host_route route;
    int r = host_forked_check(&host->process.owner);

    if (r < 0)
        return r;
    do {
        r = try_call(host, call, &patience, &route, result);
        if (r == RAPAHUB_ESTALE && !call->loan && route.life && look_again(host, &route, &patience))
            r = -EAGAIN;
        host_route_drop(&route);
    } while (r == -EAGAIN);
    if (r == HOST_ROUTE_AWAY)
        r = host_routed_call(
            host, &(struct host_routed_order){call, patience.uid, patience.deadline_ns}, result);
    if (call->loan)
        host_loans_settle(host, call->loan);
    return r;
}

int host_route_call(struct host_call *host, const struct rapahub_call *call, void *result)
{
    int r = host_cached_call(host, call, result);

    return r != -EAGAIN ? r : find_and_call(host, call, result);
}

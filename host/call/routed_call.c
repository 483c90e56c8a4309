/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/routed_call.h"

#include <stdlib.h>
#include <string.h>

#include "host/call/asyncs.h"
#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/call/prepared.h"
#include "host/call/request.h"
#include "host/owner/ownership.h"
#include "host/owner/verdict.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"

/* The end that the thread waits for. Its call may last longer, if the owner takes no turn in time.
 */
struct waiter {
    struct hub_a32 holders; /* the thread, and the call */
    struct hub_a32 ended;   /* 1: the rest is set */
    int code;
    struct hub_answer answer;
    struct host_verdict verdict;
};

static void release(struct waiter *waiter)
{
    if (hub_add(&waiter->holders, UINT32_MAX) != 1)
        return;
    hub_responses_fini(&waiter->answer);
    free(waiter);
}

static void on_done(struct host_async *async, int code, struct hub_answer *answer)
{
    struct waiter *waiter = async->data;

    waiter->code = code;
    if (code < 0) {
        host_verdict_take(&waiter->verdict, code);
    } else {
        waiter->answer = *answer;
        *answer = (struct hub_answer){.data = NULL};
    }
    hub_publish(&waiter->ended, 1);
    hub_futex_wake_private(&waiter->ended);
}

static void fini(struct host_async *async)
{
    release(async->data);
    async->data = NULL;
}

/* ---- begin ---- */

static void fill(struct host_async *async, const struct host_routed_order *order,
                 const struct host_prepared *prepared, void *arguments)
{
    async->target = order->call->target;
    async->method_id = prepared->method_id;
    async->deadline_ns = order->deadline_ns;
    async->arguments = (struct rapahub_bytes){arguments, prepared->arguments.size};
    async->owned = arguments;
    async->done = on_done;
    async->fini = fini;
    memcpy(async->method, prepared->name, sizeof async->method);
    memcpy(arguments, prepared->arguments.data, prepared->arguments.size);
}

static int refuse(struct host_async *async, struct waiter *waiter, void *arguments)
{
    free(async);
    free(waiter);
    free(arguments);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call to a router");
}

/* Makes the call, and what the thread waits for, with a holder each. */
static int make(const struct host_routed_order *order, const struct host_prepared *prepared,
                struct host_async **out, struct waiter **out_waiter)
{
    struct host_async *async = calloc(1, sizeof *async);
    struct waiter *waiter = calloc(1, sizeof *waiter);
    void *arguments = malloc(prepared->arguments.size + 1);

    if (!async || !waiter || !arguments)
        return refuse(async, waiter, arguments);
    hub_store_relaxed(&waiter->holders, 2);
    fill(async, order, prepared, arguments);
    async->data = waiter;
    *out = async;
    *out_waiter = waiter;
    return 0;
}

static int reserve_chain(struct host_call *host, struct host_async *async)
{
    if (!host_ownership_is_owner(&host->process.owner) || host->chain.value == 0)
        return 0;
    async->seat = host_chains_reserve(host, &host->chain);
    return async->seat ? 0 : RAPAHUB_ENOMEM;
}

/* Frees a call that was not begun, and is in no table. */
static void drop(struct host_call *host, struct host_async *async)
{
    host_routed_free(&host->asyncs, async);
    fini(async);
    free(async->owned);
    free(async);
}

static int begin(struct host_call *host, const struct host_routed_order *order,
                 struct host_async *async, uint64_t *number)
{
    const struct host_routed_origin origin = {.query = order->call->query, .uid = order->uid};
    int r = host_routed_add(&host->asyncs, async, &origin);

    if (r == 0)
        r = reserve_chain(host, async);
    if (r < 0) {
        drop(host, async);
        return r;
    }
    return host_asyncs_begin(host, async, number);
}

/* ---- wait ---- */

static bool has_ended(const struct waiter *waiter)
{
    return hub_observe(&waiter->ended) != 0;
}

static void wait_as_owner(struct host_call *host, const struct waiter *waiter, uint64_t deadline_ns)
{
    while (!has_ended(waiter) && hub_clock_left(deadline_ns) > 0)
        if (host_wait_until(&host->process.owner, deadline_ns) < 0)
            return;
}

static void wait_as_other(struct host_call *host, struct waiter *waiter, uint64_t deadline_ns)
{
    host_corks_push(host);
    while (!has_ended(waiter) && hub_clock_left(deadline_ns) > 0)
        (void)hub_futex_wait_private(&waiter->ended, 0, deadline_ns);
}

static int take(struct host_call *host, const struct host_prepared *prepared, struct waiter *waiter,
                void *result)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    struct hub_answer answer = waiter->answer;
    int r;

    if (waiter->code < 0)
        return host_verdict_give(&waiter->verdict);
    waiter->answer = (struct hub_answer){.data = NULL};
    host_caller_hide(caller);
    r = host_request_decode(NULL, &answer, prepared->name, prepared->result, result);
    host_caller_show(caller, &answer);
    return r;
}

/* Waits for the end, at most until the deadline: only the owner ends the call, and it may take no
 * turn. */
static int finish(struct host_call *host, const struct host_routed_order *order,
                  const struct host_prepared *prepared, struct waiter *waiter, void *result)
{
    if (host_ownership_is_owner(&host->process.owner))
        wait_as_owner(host, waiter, order->deadline_ns);
    else
        wait_as_other(host, waiter, order->deadline_ns);
    return has_ended(waiter)
               ? take(host, prepared, waiter, result)
               : rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s was not answered in time", prepared->name);
}

static int run(struct host_call *host, const struct host_routed_order *order,
               const struct host_prepared *prepared, void *result)
{
    struct waiter *waiter = NULL;
    struct host_async *async = NULL;
    uint64_t number = 0;
    int r = make(order, prepared, &async, &waiter);

    if (r < 0)
        return r;
    r = begin(host, order, async, &number);
    if (r == 0) {
        r = finish(host, order, prepared, waiter, result);
        host_asyncs_cancel(host, number); /* harmless where it has ended */
    }
    release(waiter);
    return r;
}

int host_routed_call(struct host_call *host, const struct host_routed_order *order, void *result)
{
    const struct host_route away = {.host = host, .name = "its router"};
    struct host_prepared prepared;
    int r;

    if (order->call->loan)
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "hub.route.loan",
                            "the call goes to the router, which takes no loan");
    r = host_prepared_make(host, order->call, &away, false, &prepared);
    if (r == 0 && prepared.marks.count > 0)
        r = rapahub_fail(RAPAHUB_ENOTSUP, "", "%s has streams, and its container is elsewhere",
                         prepared.name);
    if (r == 0)
        r = run(host, order, &prepared, result);
    host_prepared_release(&prepared);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/routed_call.h"

#include <stdio.h>
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
#include "hub/wire/response.h"

#define SLICE (100 * HUB_MILLISECOND) /* between two checks for a cancel, or of streams */

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

static void fill(struct host_async *async, const struct host_routed_request *request,
                 void *arguments)
{
    async->target = request->target;
    async->method_id = request->method_id;
    async->deadline_ns = request->deadline_ns;
    async->foreign = request->foreign;
    async->arguments = (struct rapahub_bytes){arguments, request->arguments.size};
    async->owned = arguments;
    async->done = on_done;
    async->fini = fini;
    snprintf(async->method, sizeof async->method, "%s", request->method);
    if (request->arguments.size > 0)
        memcpy(arguments, request->arguments.data, request->arguments.size);
}

static int refuse(struct host_async *async, struct waiter *waiter, void *arguments)
{
    free(async);
    free(waiter);
    free(arguments);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call to a router");
}

/* Makes the call, and what the thread waits for, with a holder each. */
static int make(const struct host_routed_request *request, struct host_async **out,
                struct waiter **out_waiter)
{
    struct host_async *async = calloc(1, sizeof *async);
    struct waiter *waiter = calloc(1, sizeof *waiter);
    void *arguments = malloc(request->arguments.size + 1);

    if (!async || !waiter || !arguments)
        return refuse(async, waiter, arguments);
    hub_store_relaxed(&waiter->holders, 2);
    fill(async, request, arguments);
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

static int begin(struct host_call *host, const struct host_routed_request *request,
                 struct host_async *async, uint64_t *number)
{
    int r = request->origin.ends
                ? host_routed_check_lent(&host->router, &host->asyncs, request->origin.from)
                : 0;

    if (r == 0)
        r = host_routed_add(&host->asyncs, async, &request->origin);
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

/* Returns when the thread stops to wait: as host_routed_due. */
static uint64_t due_of(const struct host_routed_request *request)
{
    const struct host_routed_ends *ends = request->origin.ends;
    uint64_t moved = ends ? hub_load_relaxed64(&ends->moved_ns) : 0;
    uint64_t due = moved == 0 ? 0 : moved + request->origin.patience_ns;

    return due > request->deadline_ns ? due : request->deadline_ns;
}

static bool goes_on(const struct host_routed_request *request, const struct waiter *waiter)
{
    return !has_ended(waiter) && hub_clock_left(due_of(request)) > 0 &&
           !(request->is_cancelled && request->is_cancelled(request->user));
}

/* Returns why the owner cannot wait; else 0, as the next one does. */
static int wait_as_owner(struct host_call *host, const struct host_routed_request *request,
                         const struct waiter *waiter)
{
    while (goes_on(request, waiter)) {
        int r = host_wait_until(&host->process.owner, due_of(request));

        if (r < 0)
            return r;
    }
    return 0;
}

static int wait_as_other(struct host_call *host, const struct host_routed_request *request,
                         struct waiter *waiter)
{
    host_corks_push(host);
    while (goes_on(request, waiter)) {
        uint64_t slice = hub_clock_after(SLICE), due = due_of(request);

        (void)hub_futex_wait_private(&waiter->ended, 0, slice < due ? slice : due);
    }
    return 0;
}

static int take(struct waiter *waiter, struct hub_answer *answer)
{
    if (waiter->code < 0)
        return host_verdict_give(&waiter->verdict);
    hub_responses_fini(answer);
    *answer = waiter->answer;
    waiter->answer = (struct hub_answer){.data = NULL};
    return 0;
}

/* Waits for the end, at most until the deadline: only the owner ends the call, and it may take no
 * turn. */
static int finish(struct host_call *host, const struct host_routed_request *request,
                  struct waiter *waiter, struct hub_answer *answer)
{
    int r = host_ownership_is_owner(&host->process.owner) ? wait_as_owner(host, request, waiter)
                                                          : wait_as_other(host, request, waiter);

    if (has_ended(waiter))
        return take(waiter, answer);
    if (r < 0)
        return rapahub_fail(r, "", "%s cannot be waited for: %s", request->method,
                            rapahub_error_text(r));
    return request->is_cancelled && request->is_cancelled(request->user)
               ? rapahub_fail(RAPAHUB_ECANCELED, "", "%s was cancelled", request->method)
               : rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s was not answered in time",
                              request->method);
}

static int run(struct host_call *host, const struct host_routed_request *request,
               struct hub_answer *answer)
{
    struct waiter *waiter = NULL;
    struct host_async *async = NULL;
    uint64_t number = 0;
    int r = make(request, &async, &waiter);

    if (r < 0)
        return r;
    r = begin(host, request, async, &number);
    if (r == 0) {
        r = finish(host, request, waiter, answer);
        host_asyncs_cancel(host, number); /* harmless where it has ended */
    }
    release(waiter);
    return r;
}

/* ---- with streams ---- */

static bool is_good(const struct hub_answer *answer)
{
    struct hub_response response;
    struct hub_reader reader;

    hub_reader_init(&reader, answer->data, answer->size);
    return hub_response_decode(&reader, &response) == 0 && response.kind == HUB_RESPONSE_OK;
}

/* Waits until the caller's streams have all bytes; the owner serves meanwhile. The call itself is
 * over, so a cancel has effect only here. */
static int settle(struct host_call *host, const struct host_routed_request *request,
                  struct host_routed_streams *streams)
{
    bool owner = host_ownership_is_owner(&host->process.owner);

    while (!host_routed_streams_settle(streams, owner ? hub_clock_now() : hub_clock_after(SLICE))) {
        if (request->is_cancelled && request->is_cancelled(request->user)) {
            host_routed_streams_close(streams, false);
            return RAPAHUB_ECANCELED;
        }
        if (owner && host_wait_turn(&host->process.owner, 10) < 0)
            return 0;
    }
    return 0;
}

static void wake_owner(void *user)
{
    host_loop_wake(&((struct host_call *)user)->process.owner.loop);
}

static int run_with_streams(struct host_call *host, const struct host_routed_request *request,
                            struct hub_answer *answer)
{
    const struct host_routed_streams_order order = {.marks = request->marks,
                                                    .arguments = request->arguments,
                                                    .pool = &host->waiters,
                                                    .patience_ns =
                                                        hub_clock_left(request->deadline_ns),
                                                    .on_end = wake_owner,
                                                    .user = host};
    struct host_routed_request with = *request;
    struct host_verdict verdict = {0};
    struct host_routed_streams *streams;
    int failure, settled, r = host_routed_streams_open(&order, &streams);

    if (r < 0)
        return r;
    with.arguments = host_routed_streams_arguments(streams);
    with.origin.ends = host_routed_streams_ends(streams);
    with.origin.patience_ns = order.patience_ns;
    r = run(host, &with, answer);
    if (r < 0)
        host_verdict_take(&verdict, r);
    host_routed_streams_close(streams, r == 0 && is_good(answer));
    settled = settle(host, request, streams);
    failure = host_routed_streams_finish(&streams);
    if (failure < 0)
        return failure;
    if (settled < 0 && r == 0)
        return rapahub_fail(settled, "", "%s was cancelled", request->method);
    return r < 0 ? host_verdict_give(&verdict) : 0;
}

int host_routed_call_run(struct host_call *host, const struct host_routed_request *request,
                         struct hub_answer *answer)
{
    return request->marks && request->marks->count > 0 ? run_with_streams(host, request, answer)
                                                       : run(host, request, answer);
}

/* ---- from a call to its result ---- */

static int call_prepared(struct host_call *host, const struct host_routed_order *order,
                         const struct host_prepared *prepared, void *result)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    const struct host_routed_request request = {
        .target = order->call->target,
        .method_id = prepared->method_id,
        .arguments = prepared->arguments,
        .marks = &prepared->marks,
        .origin = {.query = order->call->query, .uid = order->uid},
        .deadline_ns = order->deadline_ns,
        .method = prepared->name};
    struct hub_answer answer = host_caller_answer(caller);
    int r;

    host_caller_hide(caller);
    r = host_routed_call_run(host, &request, &answer);
    if (r == 0)
        r = host_request_decode(NULL, &answer, prepared->name, prepared->result, result);
    host_caller_show(caller, &answer);
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
    if (r == 0)
        r = call_prepared(host, order, &prepared, result);
    host_prepared_release(&prepared);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/call/call.h"
#include "host/call/chains.h"
#include "host/call/inquiries.h"
#include "host/owner/threads.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"
#include "hub/wire/response.h"

#define HEAD_MAX    1280             /* bytes of a response with a text */
#define PAYLOAD_MAX (UINT32_MAX / 2) /* bytes; the size of an answer is a u32 */

void host_router_init(struct host_router *router)
{
    hub_list_init(&router->open);
    hub_list_init(&router->ended);
    hub_list_init(&router->lent);
    router->due_ns = HUB_NEVER;
}

/* ---- to the router ---- */

static void describe(struct host_call *host, const struct host_async *async,
                     struct rapahub_raw_call *out)
{
    const struct host_routed_origin *origin = &async->routed->origin;
    uint64_t left = hub_clock_left(async->deadline_ns);

    *out = (struct rapahub_raw_call){.target = async->target,
                                     .query = origin->query,
                                     .method_id = async->method_id,
                                     .chain = async->seat ? host_chains_away(host, async->seat) : 0,
                                     .timeout_ns = left > 0 ? left : 1,
                                     .arguments = async->arguments,
                                     .streams = origin->ends ? origin->ends->list : NULL,
                                     .streams_count = origin->ends ? origin->ends->count : 0,
                                     .uid = origin->uid,
                                     .from = origin->from,
                                     .from_pool = origin->from_pool};
}

/* Records what the router made of the call. Returns `r` if it has refused it, else 0. The call may
 * have been answered or cancelled meanwhile. */
static int note_begun(struct host_call *host, struct host_routed *routed, int r)
{
    struct host_async *async = routed->async;
    bool refused;

    hub_mutex_lock(&host->asyncs.lock);
    refused = r < 0 && routed->state == HOST_ROUTED_TAKEN;
    if (refused)
        routed->state = HOST_ROUTED_ENDED;
    else if (routed->state == HOST_ROUTED_ENDED || async->cancelled)
        host_routed_end(&host->router, routed);
    else
        hub_list_append(&host->router.open, &routed->link);
    hub_mutex_unlock(&host->asyncs.lock);
    if (!refused && async->deadline_ns < host->router.due_ns)
        host->router.due_ns = async->deadline_ns;
    return refused ? r : 0;
}

/* Finds out who carries out the call: the inquiries of its container, or the router. */
static int find_functions(struct host_call *host, struct host_async *async,
                          const struct rapahub_router **out)
{
    const struct host_container *container =
        async->routed->origin.query
            ? NULL
            : host_containers_find(&HOST_REGISTRY(host)->containers, async->target);
    const struct host_inquiries *inquiries = container ? container->inquiries : NULL;

    async->routed->inquiries = inquiries;
    *out = inquiries ? &inquiries->router : &host->router.router;
    if (inquiries)
        return host_inquiries_check(inquiries, async->method, async->method_id, async->arguments);
    return (*out)->begin
               ? 0
               : rapahub_fail(RAPAHUB_ENOTLOCAL, "", "%s is for a router, and this host has none",
                              async->method);
}

/* The router may answer the call before it returns. r[impl hub.route.begin] */
static int begin(struct host_call *host, struct host_async *async)
{
    const struct rapahub_router *router;
    struct host_routed *routed = async->routed;
    struct rapahub_raw_call call;
    int r = find_functions(host, async, &router);

    if (r < 0)
        return r;
    describe(host, async, &call);
    hub_mutex_lock(&host->asyncs.lock);
    routed->state = HOST_ROUTED_TAKEN;
    hub_mutex_unlock(&host->asyncs.lock);
    rapahub_clear_error();
    host->process.owner.callbacks++;
    r = router->begin(router->user, &call, (struct rapahub_request_id){async->number});
    host->process.owner.callbacks--;
    r = note_begun(host, routed, r);
    if (r < 0 && rapahub_last_error()->code != r)
        rapahub_fail(r, "", "%s: the router refused it: %s", async->method, rapahub_error_text(r));
    return r;
}

void host_router_take(struct host_call *host, struct host_async *async)
{
    struct host_routed_origin origin;
    int r = 0;

    if (!async->routed) {
        origin = host_routed_origin_of(async);
        r = host_routed_add(&host->asyncs, async, &origin);
    }
    if (r == 0)
        r = begin(host, async);
    if (r < 0)
        host_asyncs_end(async, r, NULL);
}

/* ---- answers ---- */

static int check_answer(const struct rapahub_raw_answer *answer)
{
    if (answer->status > 0 || (answer->payload.size > 0 && !answer->payload.data))
        return rapahub_fail(RAPAHUB_EINVAL, "", "an answer with status %d and %zu bytes is none",
                            answer->status, answer->payload.size);
    return answer->payload.size > PAYLOAD_MAX
               ? rapahub_fail(RAPAHUB_EMSGSIZE, "", "an answer of %zu bytes", answer->payload.size)
               : 0;
}

static struct host_routed_answer *copy(const struct rapahub_raw_answer *from)
{
    size_t size = from->status == 0 ? from->payload.size : 0;
    struct host_routed_answer *answer = malloc(sizeof *answer + size);

    if (!answer)
        return NULL;
    *answer = (struct host_routed_answer){
        .status = from->status, .application = from->application, .size = size};
    if (size > 0)
        memcpy(answer->payload, from->payload.data, size);
    if (from->status < 0)
        snprintf(answer->text, sizeof answer->text, "%s",
                 from->text ? from->text : rapahub_error_text(from->status));
    return answer;
}

/* Returns whether the call of this number takes the answer. While the router is being given the
 * call, note_begun lists it. An answer to a call that ends without one gives its streams back, even
 * before the owner has looked at it. r[impl hub.route.once] */
static bool attach(struct host_call *host, uint64_t number, struct host_routed_answer *answer)
{
    struct host_routed *routed;
    struct host_async *async;
    bool taken;

    hub_mutex_lock(&host->asyncs.lock);
    async = host_async_table_find(&host->asyncs.table, number);
    routed = async ? async->routed : NULL;
    taken = routed && routed->state == HOST_ROUTED_TAKEN;
    if (taken) {
        routed->answer = answer;
        if (hub_list_empty(&routed->link))
            routed->state = HOST_ROUTED_ENDED;
        else
            host_routed_end(&host->router, routed);
    } else if (routed && routed->state == HOST_ROUTED_ENDED) {
        routed->returned = true;
    }
    hub_mutex_unlock(&host->asyncs.lock);
    return taken;
}

int host_router_answer(struct host_call *host, uint64_t number,
                       const struct rapahub_raw_answer *answer)
{
    struct host_routed_answer *copied;
    int r = check_answer(answer);

    if (r < 0)
        return r;
    copied = copy(answer);
    if (!copied)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an answer");
    if (!attach(host, number, copied)) {
        (void)host_routed_take_back(&host->router, &host->asyncs, number);
        free(copied);
        return rapahub_fail(RAPAHUB_ESTALE, "hub.route.once",
                            "the router has no call of this number, or not any more");
    }
    host_wait_again(HOST_OWNER(host));
    return 0;
}

/* ---- ends ---- */

static int refuse_answer(const struct host_async *async)
{
    return async->answer.budget
               ? rapahub_fail(RAPAHUB_EBUDGET, "sec.call.budget",
                              "%s has run, and its answer is more than the caller may keep",
                              async->method)
               : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an answer");
}

/* Makes the response that a guest would have sent: the result, or the error of the method. */
static int put_response(struct host_async *async, const struct host_routed_answer *from)
{
    const struct hub_response response = {.kind = from->status == 0 ? HUB_RESPONSE_OK
                                                                    : HUB_RESPONSE_USER,
                                          .code = from->application,
                                          .text = rapahub_string_of(from->text)};
    struct hub_writer writer;

    if (!hub_responses_reserve(&async->answer, (uint32_t)from->size + HEAD_MAX, 0))
        return refuse_answer(async);
    hub_writer_init(&writer, async->answer.data, async->answer.capacity);
    hub_response_put(&writer, &response);
    hub_writer_put(&writer, from->payload, from->size);
    async->answer.size = (uint32_t)writer.size;
    return writer.failure;
}

static void pass_on(struct host_async *async, const struct host_routed_answer *answer)
{
    int r = answer->status;

    if (r == 0 || r == RAPAHUB_EAPPLICATION)
        r = put_response(async, answer);
    else
        rapahub_fail(r, "", "%s", answer->text);
    host_asyncs_end(async, r, r == 0 ? &async->answer : NULL);
}

/* Tells the router, or the inquiries, which had the call, that it ends without its answer. */
static void tell_cancel(struct host_call *host, const struct rapahub_router *router,
                        const struct host_async *async)
{
    if (async->routed && async->routed->inquiries)
        router = &async->routed->inquiries->router;
    if (!router->cancel)
        return;
    host->process.owner.callbacks++;
    router->cancel(router->user, (struct rapahub_request_id){async->number});
    host->process.owner.callbacks--;
}

/* Returns why a call ends without its answer. `code`: the router goes; RAPAHUB_ECANCELED: it does
 * not. A call without a cancel was overdue then, even if a byte has moved since. */
static int why(struct host_async *async, int code)
{
    bool overdue = code == RAPAHUB_ECANCELED || hub_clock_left(host_routed_due(async->routed)) == 0;

    return overdue && host_asyncs_cancelled(async) == 0 ? RAPAHUB_ETIMEDOUT : code;
}

/* Ends a call that is in no list any more: by its answer, or because it is cancelled, overdue, or
 * the router goes, which `code` says. */
static void end(struct host_call *host, const struct rapahub_router *router,
                struct host_async *async, int code)
{
    struct host_routed_answer *answer = async->routed->answer;

    if (answer) {
        pass_on(async, answer);
        return;
    }
    code = why(async, code);
    host_routed_lend(&host->router, &host->asyncs, async);
    tell_cancel(host, router, async);
    rapahub_fail(code, "", "%s: %s", async->method,
                 code == RAPAHUB_ECLOSED ? "the router that had it is replaced"
                                         : rapahub_error_text(code));
    host_asyncs_end(async, code, NULL);
}

static struct host_async *take_ended(struct host_call *host)
{
    struct hub_list *link;

    hub_mutex_lock(&host->asyncs.lock);
    link = hub_list_pop(&host->router.ended);
    if (link)
        hub_store_relaxed(&host->router.ends, hub_load_relaxed(&host->router.ends) - 1);
    hub_mutex_unlock(&host->asyncs.lock);
    return link ? HUB_LIST_ITEM(link, struct host_routed, link)->async : NULL;
}

/* Only as many as there are now, so that the rest of the turn comes, too. */
static int end_some(struct host_call *host)
{
    uint32_t left = hub_load_relaxed(&host->router.ends);
    struct host_async *async;
    int count = 0;

    for (; left > 0 && (async = take_ended(host)); left--, count++)
        end(host, &host->router.router, async, RAPAHUB_ECANCELED);
    if (hub_load_relaxed(&host->router.ends) != 0)
        host_wait_again(HOST_OWNER(host));
    return count;
}

/* Lists the calls whose time is up, and notes when the next one's is. r[impl hub.route.deadline] */
static void find_overdue(struct host_call *host)
{
    uint64_t now = hub_clock_now(), next = HUB_NEVER;

    if (now < host->router.due_ns)
        return;
    hub_mutex_lock(&host->asyncs.lock);
    HUB_LIST_EACH (&host->router.open, link) {
        struct host_routed *routed = HUB_LIST_ITEM(link, struct host_routed, link);
        uint64_t due = host_routed_due(routed);

        if (due <= now)
            host_routed_end(&host->router, routed);
        else if (due < next)
            next = due;
    }
    hub_mutex_unlock(&host->asyncs.lock);
    host->router.due_ns = next;
}

int host_router_serve(struct host_call *host)
{
    if (host->router.due_ns != HUB_NEVER)
        find_overdue(host);
    return hub_load_relaxed(&host->router.ends) != 0 ? end_some(host) : 0;
}

uint64_t host_router_next_deadline(const struct host_call *host)
{
    return host->router.due_ns;
}

/* ---- the router itself ---- */

static int check(const struct rapahub_router *router)
{
    uint64_t all = 0;

    for (size_t i = 0; i < sizeof router->reserved / sizeof *router->reserved; i++)
        all |= router->reserved[i];
    if (all != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "`reserved` of a router is set");
    return router->begin ? 0 : rapahub_fail(RAPAHUB_EINVAL, "", "a router needs `begin`");
}

/* Moves the calls of one list to another, but inquiries only at the end of the host.
 * r[impl hub.inquiry.router] */
static void take(struct hub_list *from, bool at_end, struct hub_list *to)
{
    struct hub_list kept, *link;

    hub_list_init(&kept);
    while ((link = hub_list_pop(from))) {
        struct host_routed *routed = HUB_LIST_ITEM(link, struct host_routed, link);
        bool stays = routed->inquiries && !at_end;

        if (!stays)
            routed->state = HOST_ROUTED_ENDED;
        hub_list_append(stays ? &kept : to, link);
    }
    while ((link = hub_list_pop(&kept)))
        hub_list_append(from, link);
}

static uint32_t length_of(const struct hub_list *list)
{
    uint32_t count = 0;

    HUB_LIST_EACH (list, link)
        count++;
    return count;
}

/* From here on these calls are neither answered nor cancelled. */
static void take_all(struct host_call *host, bool at_end, struct hub_list *to)
{
    hub_list_init(to);
    hub_mutex_lock(&host->asyncs.lock);
    take(&host->router.ended, at_end, to);
    take(&host->router.open, at_end, to);
    hub_store_relaxed(&host->router.ends, length_of(&host->router.ended));
    host->router.due_ns = hub_list_empty(&host->router.open) ? HUB_NEVER : 0;
    hub_mutex_unlock(&host->asyncs.lock);
}

static void exchange(struct host_call *host, const struct rapahub_router *router)
{
    struct host_routes *routes = &HOST_REGISTRY(host)->routes;

    host_routes_write(routes);
    host->router.router = router ? *router : (struct rapahub_router){.begin = NULL};
    hub_store_relaxed(&host->router.set, router != NULL);
    host_routes_unlock(routes);
    host_routes_announce(routes);
}

/* The end of a call may begin another one, and take turns: that one goes to the next router.
 * r[impl hub.route.replace] */
static void replace(struct host_call *host, const struct rapahub_router *router, int code)
{
    const struct rapahub_router before = host->router.router;
    struct hub_list calls, *link;

    take_all(host, code == RAPAHUB_EDIED, &calls);
    exchange(host, router);
    while ((link = hub_list_pop(&calls)))
        end(host, &before, HUB_LIST_ITEM(link, struct host_routed, link)->async, code);
}

int host_router_set(struct host_call *host, const struct rapahub_router *router)
{
    int r = router ? check(router) : 0;

    if (r == 0)
        replace(host, router, RAPAHUB_ECLOSED);
    return r;
}

void host_router_close(struct host_call *host)
{
    replace(host, NULL, RAPAHUB_EDIED);
}

/* Work of the owner for another thread, or for itself. */
struct visit_job {
    struct rapahub_container_id target;
    void (*visit)(void *user, const char *signature);
    void *user;
};

static int run_visit(struct host_owner *owner, void *argument)
{
    const struct rapahub_router *router = &HOST_CALL(owner)->router.router;
    const struct visit_job *job = argument;
    char id[HOST_CONTAINERS_ID_SIZE];
    int r;

    if (!router->methods)
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "", "the methods of container %s are not known here",
                            host_containers_print(job->target, id));
    owner->callbacks++;
    r = router->methods(router->user, job->target, job->visit, job->user);
    owner->callbacks--;
    return r;
}

int host_router_methods(struct host_call *host, struct rapahub_container_id target,
                        void (*visit)(void *user, const char *signature), void *user)
{
    struct visit_job job = {target, visit, user};

    return host_threads_ask(&host->process.owner, run_visit, &job,
                            hub_clock_after(host->process.options.call_timeout_ns));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/upcalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/call/asyncs.h"
#include "host/call/call.h"
#include "host/call/request.h"
#include "host/call/route.h"
#include "host/call/routed.h"
#include "host/call/services.h"
#include "host/call/share.h"
#include "host/call/upcall_answer.h"
#include "host/process/guest.h"
#include "hub/base/clock.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define NAME_MOST 48 /* bytes of a guest's name in a diagnosis */

/* ---- sent on ---- */

/* A request under way to another guest. Its memory is charged to the budget of the guest that
 * asked, and credited when it is freed, which may be after the end of that guest. */
struct relay {
    struct hub_budget *budget;
    size_t bytes;
    struct host_life *life;    /* the guest that asked; NULL: it has ended */
    struct host_guest *pinned; /* an admitted one: its entry is not free before; NULL: none */
    struct hub_request *request;
    uint64_t number;
    bool cancelled;
    struct hub_list link;
    struct host_life *held; /* held as long as its streams are in use; NULL: none are */
    struct hub_channel_list channels;
};

static void fini_relay(struct host_async *async)
{
    struct relay *relay = async->data;

    for (uint32_t i = 0; i < relay->channels.count; i++)
        hub_channel_release(&relay->channels.list[i]);
    if (relay->held)
        host_life_drop(relay->held);
    hub_budget_give(relay->budget, relay->bytes);
    hub_budget_drop(&relay->budget);
}

static void on_relayed(struct host_async *async, int code, struct hub_answer *from)
{
    struct relay *relay = async->data;

    hub_list_remove(&relay->link);
    host_share_unpin(&relay->pinned);
    if (!relay->life)
        return;
    relay->life->relayed--;
    if (code == 0)
        host_upcall_answer_hand_on(relay->life, relay->request, from);
    else if (code == RAPAHUB_ENOMETHOD)
        host_upcall_answer_unknown(relay->life, relay->request);
    else if (code == RAPAHUB_EBUDGET)
        host_upcall_answer_over_budget(relay->life, relay->request, HUB_FAULT_DROPPED);
    else
        host_upcall_answer_refuse(relay->life, relay->request, code);
}

/* Marks the streams of a request: bytes go from a channel of one guest to a channel of the other.
 * r[impl shm.topology.hub.communication] */
static int take_streams(struct relay *relay, const struct rapahub_type *const *types,
                        struct hub_stream_marks **out)
{
    struct hub_request *request = relay->request;
    uint64_t ids[HUB_CHANNELS_OF_CALL];
    struct hub_stream_marks *marks;

    if (!types || !host_methods_takes_streams(types))
        return 0;
    marks = malloc(sizeof *marks);
    if (!marks)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for streams");
    *out = marks;
    if (hub_stream_ids_find(types, request->arguments, marks, ids) < 0)
        return RAPAHUB_EARGUMENTS;
    if (request->channels.count == 0)
        return host_methods_refuse_streams();
    for (uint32_t i = 0; i < marks->count; i++) {
        struct hub_stream_mark *mark = &marks->list[i];

        mark->stream = hub_channels_find(&request->channels, mark->is_sink, ids[i]);
        if (!mark->stream)
            return rapahub_fail(RAPAHUB_EARGUMENTS, "", "channel %llu is not open",
                                (unsigned long long)ids[i]);
        relay->channels.list[relay->channels.count++] = hub_channel_hold(request->channels.list[i]);
    }
    relay->held = relay->life;
    host_life_hold(relay->held);
    return 0;
}

static struct rapahub_pool_id pool_of(const struct host_life *life)
{
    const struct hub_list *containers = &life->guest->containers;

    return hub_list_empty(containers)
               ? (struct rapahub_pool_id){0, 0}
               : HUB_LIST_ITEM(containers->next, struct host_container, of_guest)->id.pool;
}

/* Makes the call that sends the request on; NULL if there is no memory. `bytes` were charged to the
 * budget; the relay keeps the charge if it is made. */
static struct host_async *make(struct host_life *life, struct hub_request *request, size_t bytes)
{
    const struct host_chain_claim claim = {life, request->metadata.chain};
    struct hub_budget *budget = hub_inbound_calls_budget(life->connection.served);
    struct host_async *async = calloc(1, sizeof *async);
    struct relay *relay = calloc(1, sizeof *relay);
    struct host_chain_seat *seat = host_chains_reserve(HOST_CALL(life->host), &claim);
    void *arguments = malloc(request->arguments.size + 1);

    if (!async || !relay || !seat || !arguments) {
        host_chains_leave(&seat);
        free(async);
        free(relay);
        free(arguments);
        return NULL;
    }
    hub_responses_limit(&async->answer, budget);
    relay->budget = hub_budget_hold(budget);
    relay->bytes = bytes;
    /* A copy: the request is freed when its guest ends, and the call may still wait to be sent
     * then. */
    memcpy(arguments, request->arguments.data, request->arguments.size);
    async->seat = seat;
    async->foreign = true;
    async->from = life->id;
    async->from_pool = pool_of(life);
    relay->life = life;
    relay->request = request;
    hub_list_init(&relay->link);
    async->arguments = (struct rapahub_bytes){arguments, request->arguments.size};
    async->owned = arguments;
    async->data = relay;
    return async;
}

/* Does the same as make, and charges the memory to the guest's budget. Returns 0, RAPAHUB_EBUDGET
 * or RAPAHUB_ENOMEM. r[impl sec.call.budget] */
static int afford(struct host_life *life, struct hub_request *request, struct host_async **out)
{
    struct hub_budget *budget = hub_inbound_calls_budget(life->connection.served);
    size_t bytes = sizeof(struct host_async) + sizeof(struct relay) + request->arguments.size + 1;

    if (hub_inbound_calls_over_budget(life->connection.served, request) ||
        !hub_budget_take(budget, bytes))
        return RAPAHUB_EBUDGET;
    *out = make(life, request, bytes);
    if (!*out)
        hub_budget_give(budget, bytes);
    return *out ? 0 : RAPAHUB_ENOMEM;
}

/* Frees a call that was not begun. */
static void drop(struct host_async *async)
{
    fini_relay(async);
    hub_responses_fini(&async->answer);
    host_chains_leave(&async->seat);
    free(async->marks);
    free(async->owned);
    free(async->data);
    free(async);
}

static const struct rapahub_type *const *types_of(const struct host_route *route,
                                                  const struct hub_request *request)
{
    const struct hub_signature *signature =
        route->methods ? host_methods_of_id(route->methods, request->method_id) : NULL;

    return signature ? signature->types + 1 : NULL;
}

/* Refuses the request if the guest has its share under way. The guest is told "busy", which means
 * that nothing was executed. r[impl sec.call.share] */
static bool has_its_share(struct host_call *host, struct host_life *life,
                          struct hub_request *request)
{
    if (life->relayed < host_share_of(HOST_REGISTRY(host), life))
        return false;
    hub_add64(&life->connection.refused, 1);
    host_upcall_answer_refuse(life, request, RAPAHUB_EBUSY);
    return true;
}

/* Where a request is sent on to. */
struct onward {
    struct rapahub_container_id target;
    struct rapahub_query query; /* where `queried` */
    struct host_route route;
    bool away;    /* to the router */
    bool queried; /* then too */
};

static int add_routed(struct host_call *host, struct host_async *async, const struct onward *onward)
{
    struct host_routed_origin origin = host_routed_origin_of(async);

    if (onward->queried)
        origin.query = &onward->query;
    return host_routed_add(&host->asyncs, async, &origin);
}

static void send_on(struct host_call *host, struct host_life *life, struct hub_request *request,
                    const struct onward *onward)
{
    struct host_async *async = NULL;
    struct relay *relay;
    uint64_t number;
    int r;

    if (has_its_share(host, life, request))
        return;
    r = afford(life, request, &async);
    if (r == RAPAHUB_EBUDGET) {
        host_upcall_answer_over_budget(life, request, HUB_FAULT_BUDGET);
        return;
    }
    relay = async ? async->data : NULL;
    if (r == 0)
        r = take_streams(relay, types_of(&onward->route, request), &async->marks);
    if (r == 0 && onward->away)
        r = add_routed(host, async, onward);
    if (r < 0) {
        if (async)
            drop(async);
        host_upcall_answer_refuse(life, request, r);
        return;
    }
    async->target = onward->target;
    async->method_id = request->method_id;
    async->deadline_ns = hub_clock_after(host->process.options.call_timeout_ns);
    async->done = on_relayed;
    async->fini = fini_relay;
    memcpy(stpcpy(async->method, "a call of "), life->name, NAME_MOST); /* the rest is zero */
    r = host_asyncs_begin(host, async, &number);
    if (r < 0) {
        host_upcall_answer_refuse(life, request, r);
        return;
    }
    /* Only the loop reports its end, so the relay still exists. */
    relay->number = number;
    relay->pinned = host_share_pin(life);
    life->relayed++;
    hub_list_append(&host->relays, &relay->link);
}

void host_upcalls_forget(struct host_call *host, struct host_life *life)
{
    const struct hub_response cancelled = {.kind = HUB_RESPONSE_CANCELLED};

    host_chains_forget(life);
    HUB_LIST_EACH (&host->relays, link) {
        struct relay *relay = HUB_LIST_ITEM(link, struct relay, link);

        if (relay->life != life)
            continue;
        host_upcall_answer_send(life, relay->request, &cancelled, (struct rapahub_bytes){NULL, 0});
        relay->life = NULL;
        host_asyncs_cancel(host, relay->number);
    }
}

void host_upcalls_look(struct host_call *host)
{
    HUB_LIST_EACH (&host->relays, link) {
        struct relay *relay = HUB_LIST_ITEM(link, struct relay, link);

        if (!relay->life || relay->cancelled || !hub_request_is_cancelled(relay->request))
            continue;
        relay->cancelled = true;
        host_asyncs_cancel(host, relay->number);
    }
}

/* ---- served here ---- */

/* A request that a service answers. */
struct asking {
    struct host_life *life;
    struct hub_request *request;
};

static void answer_asking(void *user, const struct hub_response *response,
                          struct rapahub_bytes body)
{
    const struct asking *asking = user;

    host_upcall_answer_send(asking->life, asking->request, response, body);
}

/* The method may wait in a call of its own, and the chain of calls goes on through it. */
void host_upcalls_run(struct host_call *host, struct host_life *life, struct hub_request *request,
                      struct host_container *container)
{
    const struct host_services_request asked = {request->method_id, request->arguments,
                                                &request->channels};
    struct asking asking = {life, request};
    const struct host_services_sink sink = {answer_asking, &asking};
    const struct host_chain_claim outer = host->chain;
    int r;

    if (hub_inbound_calls_over_budget(life->connection.served, request)) {
        host_upcall_answer_over_budget(life, request, HUB_FAULT_BUDGET);
        return;
    }
    host_containers_hold_own(container);
    host->chain = (struct host_chain_claim){life, request->metadata.chain};
    r = host_services_serve(host, container, &asked, &sink);
    host->chain = outer;
    if (r < 0)
        host_upcall_answer_refuse(life, request, r);
    (void)host_containers_drop_own(container); /* a service has no gate */
}

static void run_held(struct host_call *host, struct host_life *life, struct hub_request *request,
                     struct host_container *container)
{
    host_life_hold(life);
    host_upcalls_run(host, life, request, container);
    host_life_drop(life);
}

static void serve_at(struct host_call *host, struct host_life *life, struct hub_request *request,
                     struct onward *onward)
{
    const struct host_chain_claim claim = {life, request->metadata.chain};
    struct host_route *route = &onward->route;
    struct rapahub_uid uid; /* the call that is made finds it by itself */
    int r = host_route_find_claimed(host, onward->target, &claim, route, &uid);

    onward->away = r == HOST_ROUTE_AWAY;
    if (r == 0 && !types_of(route, request) && route->methods)
        host_upcall_answer_unknown(life, request);
    else if (r == 0 && route->container->offer)
        run_held(host, life, request, route->container);
    else if (r >= 0 || r == -EAGAIN)
        send_on(host, life, request, onward);
    else
        host_upcall_answer_refuse(life, request, r);
    host_route_drop(route);
}

/* A query is for the router alone, which knows the methods of the containers that it finds.
 * r[impl hub.call.query] */
static void serve_query(struct host_call *host, struct host_life *life, struct hub_request *request,
                        struct onward *onward)
{
    int r = host_route_check_query(host);

    onward->away = true;
    if (r == 0)
        send_on(host, life, request, onward);
    else
        host_upcall_answer_refuse(life, request, r);
}

static int decode(const struct hub_request *request, struct onward *out)
{
    const struct rapahub_bytes target = request->metadata.target;
    int r = hub_lifecycle_decode_target(target, &out->target);

    out->queried = r < 0 && hub_lifecycle_decode_query(target, &out->target, &out->query) == 0;
    return out->queried ? 0 : r;
}

static void serve_target(struct host_call *host, struct host_life *life,
                         struct hub_request *request)
{
    struct onward onward = {.queried = false};
    int r = decode(request, &onward);

    if (hub_lifecycle_of_id(request->method_id) != HUB_LIFECYCLE_COUNT) {
        host_upcall_answer_blame(life, request);
        return;
    }
    r = r < 0 ? RAPAHUB_EARGUMENTS : host_share_check(life, onward.target, onward.queried);
    if (r < 0) {
        host_upcall_answer_refuse(life, request, r);
        return;
    }
    if (onward.queried)
        serve_query(host, life, request, &onward);
    else
        serve_at(host, life, request, &onward);
}

static bool is_own(enum hub_lifecycle_method method)
{
    return method == HUB_LIFECYCLE_READY;
}

int host_upcalls_streams(void *user, struct hub_request *request,
                         struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    struct host_life *life = user;
    struct rapahub_container_id target;
    struct host_route route;
    int count;

    if (request->metadata.target.size == 0)
        return is_own(hub_lifecycle_of_id(request->method_id)) ? 0 : RAPAHUB_ENOMETHOD;
    if (hub_lifecycle_decode_target(request->metadata.target, &target) < 0)
        return RAPAHUB_EARGUMENTS;
    /* A guest that is down has methods, too. */
    (void)host_route_find(HOST_CALL(life->host), target, &route);
    count = hub_inbound_names(types_of(&route, request), request, names);
    host_route_drop(&route);
    return count;
}

static void serve(struct host_call *host, struct host_life *life, struct hub_request *request)
{
    enum hub_lifecycle_method method = hub_lifecycle_of_id(request->method_id);

    if (request->metadata.target.size > 0)
        serve_target(host, life, request);
    else if (method == HUB_LIFECYCLE_READY)
        host->hooks->ready(host, life, request);
    else
        host_upcall_answer_unknown(life, request);
}

uint32_t host_upcalls_serve(struct host_call *host, struct host_life *life, uint32_t most)
{
    struct hub_request *request;
    uint32_t count = 0;

    while (count < most &&
           (request = hub_inbound_calls_next(life->connection.served, NULL, NULL))) {
        serve(host, life, request);
        count++;
    }
    if (count == most) {
        hub_arm(&life->work, HOST_WORK_REQUEST);
        host_loop_wake(&host->process.owner.loop);
    }
    return count;
}

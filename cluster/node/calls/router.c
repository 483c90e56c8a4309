/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/router.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/host.h>
#include <rapahub/route.h>

#include "cluster/core/dispatch.h"
#include "cluster/node/calls/dynamic.h"
#include "cluster/node/calls/nested.h"
#include "cluster/node/calls/passes.h"
#include "cluster/node/calls/runs.h"
#include "cluster/node/calls/typed_results.h"
#include "hub/base/clock.h"
#include "hub/base/id_map.h"

#define CALLS_MAX 65536
#define RUNS_MAX  131072 /* a run may last longer than its call */
#define ANSWER_RESERVE \
    1024 /* bytes of an answer for which there is room when its call is admitted */
#define TEXT_MAX 1024

struct cluster_router {
    struct cluster_router_parts parts;
    struct cluster_runs runs;
    struct cluster_passes passes;
    struct cluster_dynamic dynamic;
    struct cluster_node_calls *calls;
    struct cluster_nested *nested;
    struct hub_id_map *requests; /* open calls of the host, by their request */
    uint64_t numbers;            /* in uids of the node's own */
    bool drains;                 /* no new call is taken */
};

/* ---- answers ---- */

static void answer_host(void *user, const struct cluster_node_call *call,
                        const struct rapahub_raw_answer *answer)
{
    struct cluster_router *router = user;

    (void)hub_id_map_remove(router->requests, call->key);
    if (rapahub_host_answer_raw(router->parts.host, (struct rapahub_request_id){call->key},
                                answer) < 0)
        rapahub_clear_error(); /* its caller waits no more */
}

static void tell_host(void *user, const struct cluster_node_call *call, uint32_t container,
                      const struct rapahub_raw_answer *answer)
{
    const struct cluster_router *router = user;
    const struct rapahub_container_id from = {cluster_ids_pool_of(call->pool), container};
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(router->parts.pools, call->pool);

    if (call->query.each)
        cluster_typed_results_tell(pool ? &pool->manifest : NULL, call->method, &call->query, from,
                                   answer);
}

static const struct cluster_node_calls_caller the_host = {tell_host, answer_host};

/* The text of a failure is its body, cut to the size of one. */
static struct rapahub_raw_answer read_answer(const struct cluster_router *router,
                                             const struct cluster_effect *effect,
                                             char text[TEXT_MAX])
{
    struct rapahub_raw_answer answer = {.status = effect->status,
                                        .application = effect->application};
    struct rapahub_bytes body = effect->payload != 0
                                    ? cluster_buffers_bytes(router->parts.buffers, effect->payload)
                                    : effect->body;

    if (answer.status == 0) {
        answer.payload = body;
    } else if (body.size > 0) {
        size_t size = body.size < TEXT_MAX ? body.size : TEXT_MAX - 1;

        memcpy(text, body.data, size);
        text[size] = '\0';
        answer.text = text;
    }
    return answer;
}

/* A call to several has one result: the last that there was. */
static void keep_result(struct cluster_node_call *call, struct rapahub_bytes payload)
{
    uint8_t *copy = malloc(payload.size + 1);

    if (!copy)
        return;
    if (payload.size > 0)
        memcpy(copy, payload.data, payload.size);
    free(call->result);
    call->result = copy;
    call->result_size = payload.size;
}

void cluster_router_each(struct cluster_router *router, const struct cluster_effect *effect)
{
    struct cluster_node_call *call = cluster_node_calls_find(router->calls, effect->number);
    char text[TEXT_MAX];
    struct rapahub_raw_answer answer = read_answer(router, effect, text);

    if (!call)
        return;
    if (answer.status == 0)
        keep_result(call, answer.payload);
    call->caller->each(call->user, call, effect->container, &answer);
}

/* Its streams may still be in use: then the run lets go of them first. */
void cluster_router_answer(struct cluster_router *router, const struct cluster_effect *effect)
{
    struct cluster_node_call *call = cluster_node_calls_find(router->calls, effect->number);
    char text[TEXT_MAX];
    struct rapahub_raw_answer answer = read_answer(router, effect, text);

    if (!call)
        return;
    if (call->run != 0) {
        call->ended = answer.status < 0 ? answer.status : RAPAHUB_EMAYBE;
        rapahub_host_cancel(router->parts.host, (struct rapahub_request_id){call->run});
        return;
    }
    if (answer.status == 0 && call->result)
        answer.payload = (struct rapahub_bytes){call->result, call->result_size};
    cluster_node_calls_end(router->calls, call, &answer);
}

void cluster_router_run(struct cluster_router *router, const struct cluster_effect *effect)
{
    cluster_runs_begin(&router->runs, effect);
}

void cluster_router_down(struct cluster_router *router, uint64_t pool, uint32_t container)
{
    cluster_runs_down(&router->runs, pool, container);
}

void cluster_router_refused(struct cluster_router *router, const struct cluster_send_call *asked,
                            int status)
{
    struct cluster_node_call *call = cluster_node_calls_find(router->calls, asked->number);
    char text[TEXT_MAX];
    size_t size = strnlen(rapahub_last_error()->text, TEXT_MAX - 1);

    memcpy(text, rapahub_last_error()->text, size);
    text[size] = '\0';
    cluster_buffers_drop(router->parts.buffers, asked->body.number);
    if (call)
        cluster_node_calls_end(
            router->calls, call,
            &(struct rapahub_raw_answer){
                .status = status, .text = text, .application = rapahub_last_error()->application});
}

/* ---- calls ---- */

uint64_t cluster_router_digest(struct rapahub_bytes arguments)
{
    uint64_t digest = UINT64_C(0xCBF29CE484222325);
    const uint8_t *at = arguments.data;

    for (size_t i = 0; i < arguments.size; i++)
        digest = (digest ^ at[i]) * UINT64_C(0x100000001B3);
    return digest;
}

static int add_event(struct cluster_router *router, const struct cluster_send_call *asked)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_CALL, .call = asked};

    return cluster_event_queue_add_urgent(router->parts.events, &event);
}

/* A call whose query is not resolved yet comes to the core when a container has said where it
 * goes. */
static int hand_over(struct cluster_router *router, struct cluster_send_call *asked,
                     struct rapahub_bytes arguments)
{
    int status = cluster_buffers_keep(router->parts.buffers, arguments, &asked->body);

    if (status < 0)
        return status;
    status = asked->query.mode == CLUSTER_MODE_DYNAMIC
                 ? cluster_dynamic_begin(&router->dynamic, asked)
                 : add_event(router, asked);
    if (status < 0)
        cluster_buffers_drop(router->parts.buffers, asked->body.number);
    return status;
}

/* Whether it goes to one container must not change when it is sent again: a client may name that
 * one then. */
static bool is_several(const struct cluster_router *router, const struct cluster_send_call *asked)
{
    const struct cluster_pool_records_pool *pool;

    if (asked->query.mode == CLUSTER_MODE_RANGE)
        return asked->query.count > 1;
    if (asked->query.mode != CLUSTER_MODE_BROADCAST)
        return false;
    pool = cluster_pool_records_find(router->parts.pools, asked->pool);
    return pool && pool->spec.containers > 1;
}

int cluster_router_call(struct cluster_router *router, const struct cluster_node_call *open,
                        const struct cluster_send_call *call, struct rapahub_bytes arguments,
                        uint64_t *number)
{
    struct cluster_send_call asked = *call;
    struct cluster_node_call *row;
    int status;

    if (router->drains)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the node stops");
    row = cluster_node_calls_add(router->calls, open);
    if (!row)
        return rapahub_last_error()->code;
    row->several = is_several(router, call);
    *number = asked.number = row->number;
    asked.reserve = ANSWER_RESERVE;
    asked.streams = open->streams_count > 0;
    if (row->own)
        asked.done_below = cluster_node_calls_done_below(router->calls, row);
    status = hand_over(router, &asked, arguments);
    if (status < 0)
        cluster_node_calls_remove(router->calls, row);
    return status;
}

static void on_chosen(void *user, const struct cluster_send_call *asked)
{
    struct cluster_router *router = user;
    struct cluster_node_call *row = cluster_node_calls_find(router->calls, asked->number);

    if (row) {
        row->several = is_several(router, asked);
        row->query.offset = asked->query.mode == CLUSTER_MODE_RANGE ? asked->query.offset : 0;
    }
    if (add_event(router, asked) < 0)
        cluster_router_refused(router, asked, rapahub_last_error()->code);
}

static void on_not_chosen(void *user, const struct cluster_send_call *asked, int status)
{
    cluster_router_refused(user, asked, status);
}

static const struct cluster_dynamic_hooks of_dynamic = {on_chosen, on_not_chosen};

uint64_t cluster_router_step(struct cluster_router *router, uint64_t now_ns)
{
    return cluster_dynamic_step(&router->dynamic, now_ns);
}

void cluster_router_cancel(struct cluster_router *router, uint64_t number)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_CANCEL, .number = number};

    if (cluster_dynamic_cancel(&router->dynamic, number))
        return;
    if (cluster_event_queue_add(router->parts.events, &event) < 0)
        cluster_event_queue_lose(router->parts.events); /* no deadline ends one with streams */
}

/* ---- calls of the host ---- */

static struct cluster_resolve_query query_of(const struct rapahub_raw_call *call)
{
    const struct rapahub_query *query = call->query;

    if (!query || query->mode == RAPAHUB_QUERY_DIRECT)
        return (struct cluster_resolve_query){.mode = CLUSTER_MODE_DIRECT,
                                              .offset = call->target.container};
    return (struct cluster_resolve_query){.mode = (uint8_t)query->mode,
                                          .number = query->number,
                                          .offset = query->offset,
                                          .count = query->count};
}

static struct cluster_node_call open_of(struct cluster_router *router,
                                        const struct rapahub_raw_call *call,
                                        struct rapahub_request_id request)
{
    bool direct = !call->query || call->query->mode == RAPAHUB_QUERY_DIRECT;
    struct cluster_node_call open = {.uid = {router->parts.session, ++router->numbers},
                                     .caller = &the_host,
                                     .user = router,
                                     .key = request.number,
                                     .pool = cluster_ids_pool(call->target.pool),
                                     .container = direct ? call->target.container
                                                         : CLUSTER_NODE_CALLS_SEVERAL,
                                     .method = call->method_id,
                                     .own = true,
                                     .chain = call->chain,
                                     .from = call->from,
                                     .from_pool = call->from_pool,
                                     .streams = call->streams,
                                     .streams_count = call->streams_count};

    if (call->query)
        open.query = *call->query;
    return open;
}

/* No other call has a uid of the node's own, so its arguments need no digest. */
static struct cluster_send_call asked_of(const struct rapahub_raw_call *call,
                                         struct cluster_uid uid)
{
    return (struct cluster_send_call){.pool = cluster_ids_pool(call->target.pool),
                                      .query = query_of(call),
                                      .uid = uid,
                                      .method = call->method_id,
                                      .digest = call->arguments.size,
                                      .deadline_ns = hub_clock_after(call->timeout_ns),
                                      .chain = call->chain,
                                      .order = call->query ? call->query->order : 0,
                                      .collect = call->query && call->query->collect};
}

/* A call that one makes which may run again has the uid that it would have then. Its arguments are
 * compared with those of the earlier one. r[impl cluster.call.nested] */
static int name_nested(struct cluster_router *router, const struct rapahub_raw_call *call,
                       struct cluster_node_call *open, struct cluster_send_call *asked)
{
    const struct cluster_uid by = {call->uid.origin, call->uid.number};
    uint32_t place = cluster_nested_find(router->nested, by);
    const struct cluster_nested_run *run;
    bool root_is_open;
    int status;

    if (place == 0 || !cluster_nested_at(router->nested, place)->again)
        return 0;
    run = cluster_nested_at(router->nested, place);
    root_is_open = cluster_node_calls_find(router->calls, run->root) != NULL;
    status = cluster_nested_name(router->nested, place, root_is_open, &open->uid);
    if (status < 0)
        return status;
    open->own = false;
    open->again = true;
    open->root = root_is_open ? run->root : 0;
    asked->uid = open->uid;
    asked->digest = cluster_router_digest(call->arguments);
    return 0;
}

static int begin(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id request)
{
    struct cluster_router *router = user;
    struct cluster_node_call open, *row;
    struct cluster_send_call asked;
    uint64_t number;
    int status;

    if (!cluster_ids_is_pool(cluster_ids_pool(call->target.pool)))
        return cluster_passes_begin(&router->passes, call, request);
    if (call->query && call->query->mode > RAPAHUB_QUERY_DYNAMIC)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no query has the mode %d", (int)call->query->mode);
    open = open_of(router, call, request);
    asked = asked_of(call, open.uid);
    status = name_nested(router, call, &open, &asked);
    if (status < 0)
        return status;
    status = cluster_router_call(router, &open, &asked, call->arguments, &number);
    row = status == 0 ? cluster_node_calls_find(router->calls, number) : NULL;
    if (row && hub_id_map_put(router->requests, request.number, row) < 0)
        rapahub_clear_error(); /* it ends at its deadline, and not by a cancel */
    return status;
}

static void cancel(void *user, struct rapahub_request_id request)
{
    struct cluster_router *router = user;
    const struct cluster_node_call *call = hub_id_map_get(router->requests, request.number);

    if (call)
        cluster_router_cancel(router, call->number);
}

/* The methods of a pool are in its record, so they are known while no container of it is. */
static int visit_methods(void *user, struct rapahub_container_id target,
                         void (*visit)(void *visitor, const char *signature), void *visitor)
{
    const struct cluster_router *router = user;
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(router->parts.pools, cluster_ids_pool(target.pool));

    if (!pool)
        return rapahub_fail(RAPAHUB_ENOPOOL, "cluster.resolve.query", "there is no pool %u.%u",
                            target.pool.major, target.pool.minor);
    cluster_typed_results_visit(&pool->manifest, visit, visitor);
    return 0;
}

/* ---- made and released ---- */

static void on_removed(void *user, const struct cluster_node_call *call)
{
    struct cluster_router *router = user;

    if (call->root == call->number)
        cluster_nested_root_ended(router->nested, call->number);
}

static void end_origin(void *user, uint64_t origin)
{
    struct cluster_router *router = user;
    const struct cluster_event event = {.kind = CLUSTER_EVENT_ORIGIN_ENDED, .number = origin};

    if (cluster_event_queue_add(router->parts.events, &event) < 0)
        rapahub_clear_error(); /* its calls are remembered for longer */
}

static const struct cluster_node_calls_hooks of_calls = {on_removed};
static const struct cluster_nested_hooks of_nested = {end_origin};

static int create_tables(struct cluster_router *router)
{
    int status = cluster_node_calls_create(CALLS_MAX, hub_clock_now(), &router->calls);

    if (status == 0)
        status =
            cluster_nested_create(RUNS_MAX, hub_clock_now(), &of_nested, router, &router->nested);
    if (status == 0 && hub_id_map_create(CALLS_MAX, &router->requests) < 0)
        status = rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the calls of a node");
    if (status == 0)
        cluster_node_calls_watch(router->calls, &of_calls, router);
    return status;
}

int cluster_router_create(const struct cluster_router_parts *parts, struct cluster_router **out)
{
    struct cluster_router *router = calloc(1, sizeof *router);
    const struct rapahub_router takes = {begin, cancel, visit_methods, router, {0}};
    int status;

    *out = router;
    if (!router)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the calls of a node");
    router->parts = *parts;
    status = create_tables(router);
    router->runs = (struct cluster_runs){.host = parts->host,
                                         .events = parts->events,
                                         .buffers = parts->buffers,
                                         .calls = router->calls,
                                         .nested = router->nested,
                                         .pools = parts->pools};
    hub_list_init(&router->runs.open);
    router->passes = (struct cluster_passes){.host = parts->host, .node = parts->node};
    router->dynamic = (struct cluster_dynamic){
        .host = parts->host, .core = parts->core, .hooks = &of_dynamic, .user = router};
    cluster_dynamic_init(&router->dynamic);
    if (status == 0)
        status = rapahub_host_set_router(parts->host, &takes);
    if (status < 0)
        cluster_router_release(out);
    return status;
}

void cluster_router_drain(struct cluster_router *router)
{
    router->drains = true;
}

uint32_t cluster_router_open(const struct cluster_router *router)
{
    return cluster_node_calls_count(router->calls);
}

void cluster_router_close(struct cluster_router *router)
{
    cluster_dynamic_close(&router->dynamic);
    if (rapahub_host_set_router(router->parts.host, NULL) < 0)
        rapahub_clear_error();
}

uint32_t cluster_router_runs(const struct cluster_router *router)
{
    return router->runs.count + router->passes.count + router->dynamic.asks;
}

void cluster_router_release(struct cluster_router **router)
{
    if (*router) {
        hub_id_map_release(&(*router)->requests);
        cluster_node_calls_release(&(*router)->calls);
        cluster_nested_release(&(*router)->nested);
    }
    free(*router);
    *router = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/runs.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/host.h>

#include "hub/base/clock.h"

struct run {
    struct hub_list link;
    struct cluster_runs *runs;
    uint64_t pool, request;
    uint32_t container;
    bool down;       /* its life of the container has ended */
    uint64_t id;     /* the effect's */
    uint64_t call;   /* number of the open call whose streams it has; 0: none */
    uint32_t nested; /* its place there */
};

static struct rapahub_bytes text_of(const struct rapahub_raw_answer *answer)
{
    const char *text = answer->text ? answer->text : "";

    return (struct rapahub_bytes){text, strnlen(text, CLUSTER_EFFECTS_BODY_MAX)};
}

struct cluster_payload_body cluster_runs_body(struct cluster_runs *runs,
                                              const struct rapahub_raw_answer *answer, int *status)
{
    struct cluster_payload_body body;

    *status = answer->status;
    if (cluster_buffers_keep(runs->buffers, answer->status < 0 ? text_of(answer) : answer->payload,
                             &body) < 0) {
        *status = RAPAHUB_EMAYBE; /* it has run, and there is no room for what it gave */
        body = (struct cluster_payload_body){.number = 0};
    }
    return body;
}

static void tell(struct cluster_runs *runs, uint64_t id, const struct rapahub_raw_answer *answer)
{
    struct cluster_event event = {.kind = CLUSTER_EVENT_RUN, .id = id};

    event.body = cluster_runs_body(runs, answer, &event.status);
    event.application = answer->application;
    if (cluster_event_queue_add_urgent(runs->events, &event) == 0)
        return;
    cluster_event_queue_lose(runs->events);
    cluster_buffers_drop(runs->buffers, event.body.number);
}

/* The call may have ended before: then it is answered now that its streams are free. If nothing was
 * moved the next run may have them. */
static void return_streams(struct cluster_runs *runs, uint64_t number, bool moved)
{
    struct cluster_node_call *call = cluster_node_calls_find(runs->calls, number);

    if (!call)
        return;
    call->run = 0;
    call->streams_given = moved;
    if (call->ended < 0)
        cluster_node_calls_end(runs->calls, call,
                               &(struct rapahub_raw_answer){.status = call->ended});
}

static void on_run(void *user, const struct rapahub_raw_answer *answer)
{
    static const struct rapahub_raw_answer died = {.status = RAPAHUB_EDIED};
    struct run *run = user;

    run->runs->count--;
    hub_list_remove(&run->link);
    cluster_nested_end(run->runs->nested, run->nested);
    if (run->call != 0)
        return_streams(run->runs, run->call, answer->moved);
    tell(run->runs, run->id, run->down ? &died : answer);
    free(run);
}

void cluster_runs_down(struct cluster_runs *runs, uint64_t pool, uint32_t container)
{
    HUB_LIST_EACH (&runs->open, link) {
        struct run *run = HUB_LIST_ITEM(link, struct run, link);

        if (run->pool != pool || run->container != container || run->down)
            continue;
        run->down = true;
        rapahub_host_cancel(runs->host, (struct rapahub_request_id){run->request});
    }
}

static void refuse(struct cluster_runs *runs, uint64_t id, int status)
{
    tell(runs, id,
         &(struct rapahub_raw_answer){.status = status, .text = rapahub_last_error()->text});
}

static struct rapahub_raw_call raw_of(const struct cluster_runs *runs,
                                      const struct cluster_effect *effect, struct cluster_uid uid,
                                      const struct cluster_node_call *call)
{
    uint64_t left = hub_clock_left(effect->at_ns);
    struct rapahub_raw_call raw = {
        .target = {cluster_ids_pool_of(effect->pool), effect->container},
        .method_id = effect->method,
        .timeout_ns = left > 0 ? left : 1,
        .arguments = effect->payload != 0 ? cluster_buffers_bytes(runs->buffers, effect->payload)
                                          : effect->body,
        .chain = effect->chain,
        .uid = {uid.origin, uid.number}};

    if (!call)
        return raw;
    raw.from = call->from;
    raw.from_pool = call->from_pool;
    raw.streams = call->streams;
    raw.streams_count = call->streams_count;
    return raw;
}

/* A call that no copy of an acked container has may run again, and so do the calls that it makes.
 */
static uint32_t begin_nested(const struct cluster_runs *runs, const struct cluster_node_call *call,
                             const struct cluster_effect *effect, struct cluster_uid *uid)
{
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(runs->pools, effect->pool);
    const struct cluster_nested_run run = {
        .uid = effect->uid,
        .pool = effect->pool,
        .container = effect->container,
        .several = call && call->several,
        .again =
            (call && call->again) || (pool && pool->spec.durability == CLUSTER_DURABILITY_ACKED),
        .root = call ? call->root : 0};

    return cluster_nested_begin(runs->nested, &run, uid);
}

static int hand_over(struct cluster_runs *runs, struct run *run,
                     const struct cluster_node_call *call, const struct cluster_effect *effect,
                     struct rapahub_request_id *request)
{
    struct rapahub_raw_call raw;
    struct cluster_uid uid;
    int status;

    run->nested = begin_nested(runs, call, effect, &uid);
    if (run->nested == 0)
        return rapahub_last_error()->code;
    raw = raw_of(runs, effect, uid, call);
    status = rapahub_host_call_raw(runs->host, &raw, on_run, run, request);
    if (status < 0)
        cluster_nested_end(runs->nested, run->nested);
    return status;
}

static int start(struct cluster_runs *runs, struct run *run, struct cluster_node_call *call,
                 const struct cluster_effect *effect)
{
    struct rapahub_request_id request;
    int status;

    if (call && call->streams_count > 0 && call->streams_given)
        return rapahub_fail(RAPAHUB_EMAYBE, "cluster.node.streams",
                            "a call is not sent again whose streams were read or written");
    status = hand_over(runs, run, call, effect, &request);
    if (status < 0)
        return status;
    run->request = request.number;
    if (call && call->streams_count > 0) {
        call->streams_given = true;
        call->run = request.number;
        run->call = call->number;
    }
    return 0;
}

/* r[impl cluster.node.streams] */
void cluster_runs_begin(struct cluster_runs *runs, const struct cluster_effect *effect)
{
    struct cluster_node_call *call = cluster_node_calls_of_uid(runs->calls, effect->uid);
    struct run *run = calloc(1, sizeof *run);
    int status;

    if (!run) {
        refuse(runs, effect->id, rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a run"));
        return;
    }
    *run = (struct run){
        .runs = runs, .id = effect->id, .pool = effect->pool, .container = effect->container};
    status = start(runs, run, call, effect);
    if (status < 0) {
        refuse(runs, effect->id, status);
        free(run);
        return;
    }
    hub_list_append(&runs->open, &run->link);
    runs->count++;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/client_call.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/own.h"

const struct hub_states cluster_client_call_states = {
    "call",
    {[CLUSTER_CLIENT_CALL_WAITING] = {"Waiting", HUB_TO(CLUSTER_CLIENT_CALL_SENT) |
                                                     HUB_TO(CLUSTER_CLIENT_CALL_SETTLING) |
                                                     HUB_TO(CLUSTER_CLIENT_CALL_ENDED)},
     [CLUSTER_CLIENT_CALL_SENT] = {"Sent", HUB_TO(CLUSTER_CLIENT_CALL_WAITING) |
                                               HUB_TO(CLUSTER_CLIENT_CALL_SETTLING) |
                                               HUB_TO(CLUSTER_CLIENT_CALL_ENDED)},
     [CLUSTER_CLIENT_CALL_SETTLING] = {"Settling", HUB_TO(CLUSTER_CLIENT_CALL_ENDED)},
     [CLUSTER_CLIENT_CALL_ENDED] = {"Ended", 0}}};

struct cluster_client_call *cluster_client_call_make(const struct rapahub_call *call,
                                                     struct cluster_typed_call *typed, bool held)
{
    struct cluster_client_call *made = calloc(1, sizeof *made);

    if (!made) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
        return NULL;
    }
    made->streams = typed->marks ? cluster_client_streams_make(typed->marks) : NULL;
    if (typed->marks && !made->streams) {
        free(made);
        return NULL;
    }
    hub_list_init(&made->age);
    hub_list_init(&made->open);
    hub_list_init(&made->waiting);
    hub_list_init(&made->cancelled);
    hub_store_relaxed(&made->holders, held ? 2 : 1);
    made->typed = *typed;
    *typed = (struct cluster_typed_call){.arguments = NULL};
    made->pool = cluster_ids_pool(call->target.pool);
    made->container = call->target.container;
    if (call->query)
        made->query = *call->query;
    return made;
}

bool cluster_client_call_is_single(const struct cluster_client_call *call)
{
    enum rapahub_query_mode mode = call->query.mode;

    return mode == RAPAHUB_QUERY_DIRECT || mode == RAPAHUB_QUERY_LOCAL ||
           mode == RAPAHUB_QUERY_PHYSICAL || mode == RAPAHUB_QUERY_HASH;
}

void cluster_client_call_aim(struct cluster_client_call *call,
                             const struct cluster_body_member *member)
{
    cluster_client_call_unaim(call);
    call->members.one = *member;
    call->members.list = &call->members.one;
    call->members.count = 1;
}

void cluster_client_call_unaim(struct cluster_client_call *call)
{
    if (call->members.list != &call->members.one)
        free(call->members.list);
    call->members.list = NULL;
    call->members.count = 0;
}

void cluster_client_call_drop(struct cluster_client_call *call)
{
    if (hub_add(&call->holders, UINT32_MAX) != 1)
        return;
    cluster_client_streams_release(&call->streams);
    cluster_typed_call_fini(&call->typed);
    cluster_client_call_unaim(call);
    free(call->members.done);
    free(call->end_memory);
    free(call);
}

uint64_t cluster_client_call_until(const struct cluster_client_call *call)
{
    uint64_t moved = call->streams ? cluster_client_streams_moved(call->streams) : 0;
    uint64_t until = call->timeout_ns > HUB_NEVER - moved ? HUB_NEVER : moved + call->timeout_ns;

    return moved != 0 && until > call->deadline_ns ? until : call->deadline_ns;
}

/* With streams it is how long nothing need move, see cluster.stream.patience. */
static uint64_t left_us(const struct cluster_client_call *call, uint64_t now_ns)
{
    uint64_t left = call->deadline_ns > now_ns ? call->deadline_ns - now_ns : 0;

    if (call->streams)
        left = call->timeout_ns;
    return left / HUB_MICROSECOND + (left % HUB_MICROSECOND != 0 ? 1 : 0);
}

void cluster_client_call_write(const struct cluster_client_call *call, uint64_t now_ns,
                               struct cluster_frame *frame, struct cluster_body *body)
{
    const struct rapahub_query *query = &call->query;
    bool direct = query->mode == RAPAHUB_QUERY_DIRECT, range = query->mode == RAPAHUB_QUERY_RANGE,
         numbered = query->mode == RAPAHUB_QUERY_HASH || query->mode == RAPAHUB_QUERY_PHYSICAL ||
                    query->mode == RAPAHUB_QUERY_DYNAMIC;

    const struct hub_stream_marks *marks = call->typed.marks;

    *frame = (struct cluster_frame){.type = CLUSTER_FRAME_CALL,
                                    .ttl = CLUSTER_FRAME_TTL,
                                    .uid.number = call->number,
                                    .pool = call->pool,
                                    .container = direct ? call->container : 0};
    body->call = (struct cluster_body_call){
        .maybe = call->maybe,
        .collect = query->collect,
        .mode = (uint8_t)query->mode,
        .number = numbered ? query->number : 0,
        .offset = range ? query->offset : 0,
        .count = range ? query->count : 0,
        .lineage = call->members.count == 1 ? call->members.list[0].lineage : 0,
        .left_us = left_us(call, now_ns),
        .method_id = call->typed.method_id,
        .order = query->order,
        .order_prev = call->before,
        .sources = marks ? cluster_client_streams_sources(marks) : 0,
        .sinks = marks ? cluster_client_streams_sinks(marks) : 0,
        .arguments = {call->typed.arguments, call->typed.size},
        .members = {.of = call->members.list, .count = call->members.count}};
}

int cluster_client_call_resolve(struct cluster_client_call *call,
                                const struct cluster_body_resolved *resolved)
{
    struct cluster_client_members *members = &call->members;
    struct cluster_list list = resolved->members;
    uint32_t count = 0;

    if (members->count > 0 && call->maybe)
        return 0; /* it is sent to these as long as it is open */
    if (list.count == 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.client.resolved", "a call goes nowhere");
    cluster_client_call_unaim(call); /* that was a guess */
    members->list = malloc(list.count * sizeof *members->list);
    if (!members->list)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the members of a call");
    while (cluster_body_next_member(&list, &members->list[count]))
        count++;
    members->count = count;
    return 0;
}

int cluster_client_call_fail(const struct cluster_client_end *end)
{
    char text[CLUSTER_BODY_TEXT_MAX + 1];
    size_t size = end->text.size < sizeof text ? end->text.size : sizeof text - 1;

    if (size > 0)
        memcpy(text, end->text.data, size);
    text[size] = '\0';
    if (end->code == RAPAHUB_EAPPLICATION)
        return rapahub_fail_application(end->application, text);
    return rapahub_fail(end->code, "", "%s", size > 0 ? text : rapahub_error_text(end->code));
}

/* Decodes a result for a callback, and calls it. */
static void call_back(const struct cluster_client_call *call, const struct cluster_client_end *end,
                      void (*tell)(const struct cluster_client_call *call, const void *with,
                                   int status, const void *result),
                      const void *with)
{
    size_t size = call->typed.result->size;
    OWN(hub_memory) void *result = calloc(1, size > 0 ? size : 1);
    struct hub_align memory = {NULL, 0};
    bool is_void = call->typed.result->kind == RAPAHUB_KIND_VOID;
    int status = end->code;

    if (status < 0)
        (void)cluster_client_call_fail(end);
    else if (!result)
        status = rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a result");
    else
        status = cluster_typed_call_result(&call->typed, end->payload, &memory, result);
    tell(call, with, status, status < 0 || is_void ? NULL : result);
    hub_align_fini(&memory);
}

static void tell_each(const struct cluster_client_call *call, const void *with, int status,
                      const void *result)
{
    const struct rapahub_container_id from = {cluster_ids_pool_of(call->pool),
                                              *(const uint32_t *)with};

    call->query.each(call->query.user, from, status, result);
}

static void tell_done(const struct cluster_client_call *call, const void *with, int status,
                      const void *result)
{
    (void)with;
    call->on_done(call->user, status, result);
}

/* The bit says that the end of a replica has come, over all times that the call is sent. */
int cluster_client_call_each(struct cluster_client_call *call, const struct cluster_frame *frame,
                             const struct cluster_client_end *end)
{
    uint8_t bit = (uint8_t)(1u << frame->replica % 8);

    if (!call->members.done)
        call->members.done = calloc(1, CLUSTER_CONTAINERS_MAX / 8);
    if (!call->members.done)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the members of a call");
    if (call->members.done[frame->replica / 8] & bit)
        return 0;
    call->members.done[frame->replica / 8] |= bit;
    if (call->query.each)
        call_back(call, end, tell_each, &frame->container);
    return 0;
}

/* Copies what a waiting thread will look at. */
static void keep_end(struct cluster_client_call *call, const struct cluster_client_end *end)
{
    static const char none[] = "no memory for the answer";
    const void *from = end->code < 0 ? (const void *)end->text.data : end->payload.data;
    size_t size = end->code < 0 ? end->text.size : end->payload.size;

    call->end = *end;
    call->end_memory = malloc(size > 0 ? size : 1);
    if (!call->end_memory) {
        call->end =
            (struct cluster_client_end){.code = RAPAHUB_ENOMEM, .text = {none, sizeof none - 1}};
        return;
    }
    if (size > 0)
        memcpy(call->end_memory, from, size);
    call->end.text = (struct rapahub_string){call->end_memory, end->code < 0 ? size : 0};
    call->end.payload = (struct rapahub_bytes){call->end_memory, end->code < 0 ? 0 : size};
}

void cluster_client_call_end(struct cluster_client_call *call, const struct cluster_client_end *end)
{
    if (call->on_done) {
        call_back(call, end, tell_done, NULL);
    } else {
        bool sleeps = !call->is_led;

        keep_end(call, end);
        hub_publish(&call->ended, 1);
        if (sleeps)
            hub_futex_wake_private(&call->ended);
    }
    cluster_client_call_drop(call);
}

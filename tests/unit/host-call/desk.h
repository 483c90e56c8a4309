/* SPDX-License-Identifier: Apache-2.0 */
/* desk: a floor whose router a test plays itself. Include it after floor.h. */
#ifndef TESTS_UNIT_HOST_CALL_DESK_H
#define TESTS_UNIT_HOST_CALL_DESK_H

#include "host/call/router.h"
#include "tests/unit/host-call/floor.h"

static const struct rapahub_container_id desk_elsewhere = {{7, 7}, 7};

/* What the router was asked, and what it does. */
struct desk {
    struct stage *stage;
    unsigned begun, cancelled;
    uint64_t numbers[8];
    uint64_t cancels[8]; /* their numbers */
    struct rapahub_raw_call last;
    struct rapahub_query query; /* of the last, if it has one */
    int refuses;                /* what `begin` returns */
    bool answers;               /* it answers before it returns */
    bool lends;                 /* it does not try to answer what is cancelled */
    bool cancels_itself;        /* its call is cancelled before it returns */
};

static struct desk desk;

FLOOR_UNUSED static int desk_answer(uint64_t number, int status, const char *payload, size_t size)
{
    const struct rapahub_raw_answer answer = {
        .status = status, .application = 5, .payload = {payload, size}, .text = "its text"};

    return host_router_answer(&desk.stage->host, number, &answer);
}

FLOOR_UNUSED static int desk_begin(void *user, const struct rapahub_raw_call *call,
                                   struct rapahub_request_id answer)
{
    assert_ptr_equal(user, &desk);
    assert_true(desk.begun < 8);
    desk.numbers[desk.begun++] = answer.number;
    desk.last = *call;
    if (call->query)
        desk.query = *call->query;
    if (desk.answers)
        assert_int_equal(desk_answer(answer.number, 0, "\1", 1), 0);
    if (desk.cancels_itself)
        host_asyncs_cancel(&desk.stage->host, answer.number);
    return desk.refuses;
}

FLOOR_UNUSED static void desk_cancel(void *user, struct rapahub_request_id answer)
{
    assert_ptr_equal(user, &desk);
    assert_true(desk.cancelled < 8);
    desk.cancels[desk.cancelled++] = answer.number;
    if (!desk.lends)
        assert_int_equal(desk_answer(answer.number, 0, "\1", 1), RAPAHUB_ESTALE);
}

static const struct rapahub_router desk_router = {
    .begin = desk_begin, .cancel = desk_cancel, .user = &desk};

/* The ends of the calls of a test. */
struct desk_ends {
    unsigned count;
    int code;
    char payload[64], text[128];
    size_t size;
};

static struct desk_ends desk_ends;

FLOOR_UNUSED static void desk_done(struct host_async *async, int code, struct hub_answer *answer)
{
    (void)async;
    desk_ends.count++;
    desk_ends.code = code;
    if (code < 0) {
        snprintf(desk_ends.text, sizeof desk_ends.text, "%s", rapahub_last_error()->text);
        return;
    }
    assert_true(answer->size <= sizeof desk_ends.payload);
    desk_ends.size = answer->size;
    memcpy(desk_ends.payload, answer->data, answer->size);
}

FLOOR_UNUSED static struct host_async *desk_make(void)
{
    struct host_async *async = calloc(1, sizeof *async);

    assert_non_null(async);
    async->target = desk_elsewhere;
    async->method_id = 5;
    async->arguments = (struct rapahub_bytes){"ab", 2};
    async->deadline_ns = hub_clock_after(SOON);
    async->done = desk_done;
    memcpy(async->method, "sum", sizeof "sum");
    return async;
}

/* Begins a call, which its router has then, unless that refuses it. Returns its number. */
FLOOR_UNUSED static uint64_t desk_call(struct host_async *async)
{
    uint64_t number = 0;

    assert_int_equal(host_asyncs_begin(&desk.stage->host, async, &number), 0);
    (void)host_asyncs_serve(&desk.stage->host);
    return number;
}

FLOOR_UNUSED static struct stage *desk_open(void)
{
    static const struct host_call_hooks hooks = {
        .look = stage_look, .call = stage_call, .away = host_router_take};

    desk = (struct desk){.stage = floor_open()};
    desk_ends = (struct desk_ends){0};
    desk.stage->host.hooks = &hooks;
    assert_int_equal(host_router_set(&desk.stage->host, &desk_router), 0);
    return desk.stage;
}

FLOOR_UNUSED static void desk_close(void)
{
    struct stage *stage = desk.stage;

    host_router_close(&stage->host);
    assert_int_equal(stage->host.process.owner.callbacks, 0); /* all have returned */
    hub_mutex_lock(&stage->host.asyncs.lock);
    assert_int_equal(stage->host.asyncs.routed, 0);
    assert_int_equal(stage->host.asyncs.table.own, 0);
    hub_mutex_unlock(&stage->host.asyncs.lock);
    floor_close(stage);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/send.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/calls/call_ends.h"
#include "cluster/core/calls/look.h"
#include "cluster/wire/body.h"
#include "hub/base/check.h"

int cluster_send_create(const struct cluster_limits *limits, const struct cluster_send_parts *parts,
                        uint64_t secret, struct cluster_send **out)
{
    struct cluster_send *send = calloc(1, sizeof *send);

    *out = send;
    if (send) {
        send->parts = *parts;
        send->limits = *limits;
        if (cluster_open_calls_init(&send->open, limits->calls, secret) == 0 &&
            cluster_timers_create(2 * limits->calls, &send->timers) == 0)
            return 0;
    }
    cluster_send_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u open calls", limits->calls);
}

void cluster_send_release(struct cluster_send **send)
{
    if (*send) {
        cluster_timers_release(&(*send)->timers);
        cluster_open_calls_fini(&(*send)->open);
    }
    free(*send);
    *send = NULL;
}

/* ---- a call ---- */

/* The call may end within: then so do the looks. */
static void look_for_all(struct cluster_send *send, uint32_t call_place, uint64_t now_ns)
{
    uint32_t place = cluster_call_ends_call(send, call_place)->members;
    uint64_t next = cluster_call_ends_member(send, place)->id;

    while ((place = cluster_open_calls_find_member(&send->open, next)) != 0) {
        uint32_t after = cluster_call_ends_member(send, place)->next;

        next = after != 0 ? cluster_call_ends_member(send, after)->id : 0;
        cluster_look_for(send, place, now_ns);
    }
}

/* r[impl cluster.call.bounds] */
static int check_room(const struct cluster_send *send, uint32_t members)
{
    if (send->open.calls.count < send->limits.calls &&
        send->open.members.count + members <= send->limits.calls &&
        cluster_effects_space(send->parts.receive.effects) > members)
        return 0;
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.call.bounds", "at most %u calls are open",
                        send->limits.calls);
}

static int check(const struct cluster_send *send, const struct cluster_send_call *call,
                 struct cluster_resolve_members *members, struct cluster_pools_method *method)
{
    const struct cluster_resolve *resolve = &send->parts.resolve;
    int status = cluster_resolve_members(resolve, call->pool, &call->query, members);

    if (status == 0)
        status = cluster_resolve_method(resolve, call->pool, call->method, method);
    if (status < 0)
        return status;
    if (cluster_open_calls_find(&send->open, call->number) != 0)
        return rapahub_fail(RAPAHUB_EEXIST, "cluster.call.once", "a call with this number is open");
    return check_room(send, members->count);
}

/* A call before it that is open is waited for in the order. A call of another node may leave
 * without having been admitted, and come again: then it is still waited for. */
static void join_order(struct cluster_send *send, uint32_t call_place)
{
    const struct cluster_open_call *call = cluster_call_ends_call(send, call_place);

    for (uint32_t place = call->members; place != 0;
         place = cluster_call_ends_member(send, place)->next) {
        struct cluster_open_member *member = cluster_call_ends_member(send, place);
        const struct cluster_order_call ordered = {
            cluster_open_calls_order(call, member->container), call->asked.uid.number, member->id};

        if (call->asked.from.node == 0 &&
            cluster_order_has(send->parts.order, &ordered.key, member->after))
            member->after = 0;
        member->order = cluster_order_add(send->parts.order, &ordered);
        CHECK(member->order != 0);
    }
}

static uint32_t add_call(struct cluster_send *send, const struct cluster_open_call *call,
                         const struct cluster_resolve_members *members)
{
    uint32_t place = cluster_open_calls_add(&send->open, call, members);
    const struct cluster_timer deadline = {.at_ns = call->asked.deadline_ns, .number = place};

    cluster_call_ends_call(send, place)->timer = cluster_timers_set(send->timers, &deadline);
    if (call->asked.order != 0)
        join_order(send, place);
    cluster_effects_reserve(send->parts.receive.effects, members->count + 1);
    return place;
}

/* Its body is kept, and it looks for its containers. */
static int begin(struct cluster_send *send, struct cluster_open_call *call,
                 const struct cluster_resolve_members *members, uint64_t now_ns)
{
    call->payload = cluster_payload_keep(send->parts.receive.payload, &call->asked.body);
    if (call->payload == 0)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.call.bounds",
                            "the limit is reached of the bodies that are kept");
    look_for_all(send, add_call(send, call, members), now_ns);
    return 0;
}

/* r[impl cluster.call.bounds] */
int cluster_send_begin(struct cluster_send *send, const struct cluster_send_call *asked,
                       uint64_t now_ns)
{
    struct cluster_open_call call = {.asked = *asked,
                                     .single = asked->query.mode != CLUSTER_MODE_RANGE &&
                                               asked->query.mode != CLUSTER_MODE_BROADCAST};
    struct cluster_resolve_members members;
    int status = check(send, asked, &members, &call.method);

    if (status < 0)
        return status;
    call.pinned = members.pinned;
    return begin(send, &call, &members, now_ns);
}

int cluster_send_take(struct cluster_send *send, const struct cluster_send_call *asked, bool pinned,
                      uint64_t now_ns)
{
    const struct cluster_resolve_members members = {.first = asked->query.offset, .count = 1};
    struct cluster_open_call call = {
        .asked = *asked, .single = true, .pinned = pinned ? send->parts.resolve.node : 0};
    uint64_t bytes = cluster_payload_weight(&asked->body);
    int status = check_room(send, 1);

    if (status < 0)
        return status;
    cluster_peers_count_came(send->parts.peers, asked->from.node, 1, bytes);
    status = begin(send, &call, &members, now_ns);
    if (status < 0)
        cluster_peers_count_came(send->parts.peers, asked->from.node, -1, bytes);
    return status;
}

bool cluster_send_cancel(struct cluster_send *send, uint64_t number, uint64_t now_ns)
{
    const struct cluster_dedup_answer answer = {.status = RAPAHUB_ECANCELED};
    uint32_t place = cluster_open_calls_find(&send->open, number);

    if (place != 0)
        cluster_call_ends_call_ended(send, place, 0, &answer, now_ns);
    return place != 0;
}

void cluster_send_ended(struct cluster_send *send, uint64_t asker,
                        const struct cluster_dedup_answer *answer, uint64_t now_ns)
{
    uint32_t place = cluster_open_calls_find_member(&send->open, asker);

    if (place != 0)
        cluster_call_ends_member_ended(send, place, answer, now_ns);
}

void cluster_send_down(struct cluster_send *send, uint64_t pool, uint32_t container,
                       uint64_t now_ns)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&send->open.members, place)) != 0) {
        struct cluster_open_member *member = cluster_call_ends_member(send, place);

        if (member->state != CLUSTER_SEND_RUNNING || member->container != container ||
            cluster_call_ends_call(send, member->call)->asked.pool != pool)
            continue;
        member->maybe = true;
        if (member->order != 0)
            cluster_order_lose(send->parts.order, member->order);
        cluster_call_ends_move(member, CLUSTER_SEND_LOOKING);
        cluster_look_for(send, place, now_ns);
    }
}

void cluster_send_changed(struct cluster_send *send, uint64_t pool, uint32_t container,
                          uint64_t now_ns)
{
    uint32_t waiting = cluster_parking_figures(send->parts.parking, pool, container).calls;
    uint64_t id;

    while (waiting-- > 0 && cluster_parking_take(send->parts.parking, pool, container, &id)) {
        cluster_look_again(send, id, now_ns);
    }
    cluster_retry_hurry(send->parts.retry, pool, container, now_ns);
}

/* It was not admitted. A call of another node may have been so before. */
static void end_wait_of_member(struct cluster_send *send, uint32_t place, uint32_t kind,
                               uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_call_ends_refusal refusal = {
        .reason = member->state == CLUSTER_SEND_ORDERED ? CLUSTER_NACK_ORDER : CLUSTER_NACK_BEHIND};
    bool waits = member->state == CLUSTER_SEND_ORDERED || member->state == CLUSTER_SEND_WAITING;

    member->timer = 0;
    if (cluster_call_ends_call(send, member->call)->asked.from.node == 0)
        cluster_call_ends_fail(send, place,
                               rapahub_fail(RAPAHUB_EBUSY, "cluster.order.admit",
                                            "the call before it in its order has not come"),
                               now_ns);
    else if (waits || kind == CLUSTER_SEND_ORDER_OVER)
        cluster_call_ends_refuse(send, place, &refusal, now_ns);
}

/* The sender of a call has its own clock: it is not told. r[impl cluster.peer.once] */
static void end_at_deadline(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    struct cluster_dedup_answer over = {.status = RAPAHUB_ETIMEDOUT};
    const struct cluster_open_call *call = cluster_call_ends_call(send, place);

    if (call->asked.from.node != 0) {
        cluster_call_ends_forget(send, place, now_ns);
        return;
    }
    if (call->single &&
        cluster_call_ends_member(send, call->members)->state == CLUSTER_SEND_WAITING)
        over.status = RAPAHUB_ENETTIMEOUT;
    cluster_call_ends_call_ended(send, place, 0, &over, now_ns);
}

static void end_wait(struct cluster_send *send, const struct cluster_timer *timer, uint64_t now_ns)
{
    if (timer->kind == CLUSTER_SEND_DEADLINE)
        end_at_deadline(send, (uint32_t)timer->number, now_ns);
    else
        end_wait_of_member(send, (uint32_t)timer->number, timer->kind, now_ns);
}

/* The deadline of a call comes before its attempts. A call whose turn it is may be the end of the
 * wait of another one. */
void cluster_send_tick(struct cluster_send *send, uint64_t now_ns)
{
    struct cluster_timer timer;
    struct cluster_retry_due due;
    uint64_t member;

    while (cluster_timers_take(send->timers, now_ns, &timer))
        end_wait(send, &timer, now_ns);
    while (cluster_order_take(send->parts.order, &member))
        cluster_look_again(send, member, now_ns);
    while (cluster_retry_take(send->parts.retry, now_ns, &due)) {
        CHECK(!due.over);
        cluster_look_again(send, due.number, now_ns);
        while (cluster_order_take(send->parts.order, &member))
            cluster_look_again(send, member, now_ns);
    }
}

uint64_t cluster_send_next(const struct cluster_send *send)
{
    uint64_t deadline = cluster_timers_next(send->timers);
    uint64_t attempt = cluster_retry_next(send->parts.retry);

    return deadline < attempt ? deadline : attempt;
}

struct cluster_send_figures cluster_send_figures(const struct cluster_send *send)
{
    return (struct cluster_send_figures){send->open.calls.count, send->open.members.count};
}

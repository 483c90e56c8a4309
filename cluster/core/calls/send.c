/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/send.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/timers.h"
#include "cluster/core/calls/held_ends.h"
#include "hub/base/check.h"

const struct hub_states cluster_send_states = {
    "cluster.send",
    {[CLUSTER_SEND_LOOKING] = {"LOOKING",
                               HUB_TO(CLUSTER_SEND_PARKED) | HUB_TO(CLUSTER_SEND_WAITING) |
                                   HUB_TO(CLUSTER_SEND_ORDERED) | HUB_TO(CLUSTER_SEND_RUNNING)},
     [CLUSTER_SEND_PARKED] = {"PARKED", HUB_TO(CLUSTER_SEND_LOOKING)},
     [CLUSTER_SEND_WAITING] = {"WAITING", HUB_TO(CLUSTER_SEND_LOOKING)},
     [CLUSTER_SEND_ORDERED] = {"ORDERED", HUB_TO(CLUSTER_SEND_LOOKING)},
     [CLUSTER_SEND_RUNNING] = {"RUNNING", HUB_TO(CLUSTER_SEND_LOOKING)}}};

enum { TIMER_DEADLINE, TIMER_ORDERED }; /* for a call; for a member */

struct cluster_send {
    struct cluster_send_parts parts;
    struct cluster_limits limits;
    struct cluster_open_calls open;
    struct cluster_timers *timers;
};

int cluster_send_create(const struct cluster_limits *limits, const struct cluster_send_parts *parts,
                        struct cluster_send **out)
{
    struct cluster_send *send = calloc(1, sizeof *send);

    *out = send;
    if (send) {
        send->parts = *parts;
        send->limits = *limits;
        if (cluster_open_calls_init(&send->open, limits->calls) == 0 &&
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

static struct cluster_open_call *call_at(const struct cluster_send *send, uint32_t place)
{
    return cluster_open_calls_at(&send->open, place);
}

static struct cluster_open_member *member_at(const struct cluster_send *send, uint32_t place)
{
    return cluster_open_calls_member(&send->open, place);
}

static uint32_t place_of(const struct cluster_send *send, uint64_t id)
{
    return cluster_open_calls_find_member(&send->open, id);
}

static void move(struct cluster_open_member *member, enum cluster_send_state to)
{
    CHECK(hub_states_may(&cluster_send_states, member->state, to));
    member->state = to;
}

/* ---- ends ---- */

static void tell(struct cluster_send *send, const struct cluster_open_call *call, uint8_t kind,
                 uint32_t container, const struct cluster_dedup_answer *answer)
{
    struct cluster_payload_body body = {.number = 0};
    struct cluster_effect effect = {.number = call->asked.number,
                                    .pool = call->asked.pool,
                                    .container = container,
                                    .status = answer->status,
                                    .application = answer->application,
                                    .kind = kind};

    if (answer->payload != 0)
        body = cluster_payload_body(send->parts.receive.payload, answer->payload);
    effect.payload = body.number;
    effect.body = body.bytes;
    cluster_effects_unreserve(send->parts.receive.effects, 1);
    cluster_effects_add(send->parts.receive.effects, &effect);
}

/* Wherever the member waits, it leaves. A run goes on, and its end finds no asker. */
static void remove_member(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_member *member = member_at(send, place);

    if (member->state == CLUSTER_SEND_PARKED)
        (void)cluster_parking_remove(send->parts.parking, member->wait);
    if (member->retry != 0)
        (void)cluster_retry_done(send->parts.retry, member->retry, now_ns);
    if (member->order != 0)
        cluster_order_end(send->parts.order, member->order);
    (void)cluster_timers_clear(send->timers, member->timer);
    cluster_open_calls_remove_member(&send->open, place);
}

/* The place for its end is not needed. */
static void drop_member(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    cluster_effects_unreserve(send->parts.receive.effects, 1);
    remove_member(send, place, now_ns);
}

/* The caller is told, once: the call is gone after it. r[impl cluster.call.once] */
static void end_call(struct cluster_send *send, uint32_t place, uint32_t container,
                     const struct cluster_dedup_answer *answer, uint64_t now_ns)
{
    struct cluster_open_call *call = call_at(send, place);

    while (call->members != 0)
        drop_member(send, call->members, now_ns);
    (void)cluster_timers_clear(send->timers, call->timer);
    tell(send, call, CLUSTER_EFFECT_ANSWER, container, answer);
    cluster_payload_drop(send->parts.receive.payload, call->payload);
    cluster_open_calls_remove(&send->open, place);
}

static void end_member(struct cluster_send *send, uint32_t place,
                       const struct cluster_dedup_answer *answer, uint64_t now_ns)
{
    uint32_t call_place = member_at(send, place)->call;
    uint32_t container = member_at(send, place)->container;
    struct cluster_open_call *call = call_at(send, call_place);
    struct cluster_dedup_answer end = {.status = 0};

    if (call->single) {
        end_call(send, call_place, container, answer, now_ns);
        return;
    }
    tell(send, call, CLUSTER_EFFECT_EACH, container, answer);
    if (call->status == 0)
        call->status = answer->status;
    remove_member(send, place, now_ns);
    end.status = call->status;
    if (call->members == 0 || (call->status != 0 && !call->asked.collect))
        end_call(send, call_place, container, &end, now_ns);
}

/* Its caller gets the text of the last failure. r[impl cluster.call.lineage] */
static void fail_member(struct cluster_send *send, uint32_t place, int status, uint64_t now_ns)
{
    struct cluster_payload *payload = send->parts.receive.payload;
    const struct cluster_dedup_answer answer = {
        .status = member_at(send, place)->maybe ? RAPAHUB_EMAYBE : status,
        .payload = cluster_payload_keep_text(payload, rapahub_last_error()->text)};

    end_member(send, place, &answer, now_ns);
    if (answer.payload != 0)
        cluster_payload_drop(payload, answer.payload);
}

/* ---- a member looks for its container ---- */

static void wait_for_turn(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    struct cluster_open_member *member = member_at(send, place);
    const struct cluster_open_call *call = call_at(send, member->call);
    const struct cluster_retry_call again = cluster_open_calls_again(call, member);
    int status = 0;

    if (member->retry != 0)
        (void)cluster_retry_again(send->parts.retry, member->retry, now_ns);
    else
        status = cluster_retry_add(send->parts.retry, &again, now_ns, &member->retry);
    if (status < 0)
        fail_member(send, place, status, now_ns);
    else
        move(member, CLUSTER_SEND_WAITING);
}

/* It is not tried again while it is parked. */
static void park(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    struct cluster_open_member *member = member_at(send, place);
    const struct cluster_open_call *call = call_at(send, member->call);
    const struct cluster_parking_call parked = {
        call->asked.pool, member->container, member->id,
        call->single ? cluster_payload_weight(&call->asked.body) : sizeof *member};
    int status = cluster_parking_park(send->parts.parking, &parked, &member->wait);

    if (status < 0) {
        fail_member(send, place, status, now_ns);
        return;
    }
    move(member, CLUSTER_SEND_PARKED);
    if (member->retry != 0)
        (void)cluster_retry_done(send->parts.retry, member->retry, now_ns);
    member->retry = 0;
}

/* Returns whether it is the turn of a call; else it waits, but for a call that does not come only
 * for a while. */
static bool is_its_turn(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    struct cluster_open_member *member = member_at(send, place);
    const struct cluster_timer over = {
        .at_ns = now_ns + CLUSTER_SEND_ORDERED_NS, .number = place, .kind = TIMER_ORDERED};
    bool misses;

    if (member->order == 0)
        return true;
    misses =
        cluster_open_calls_misses(call_at(send, member->call), member, send->parts.receive.dedup);
    if (!misses && cluster_order_may(send->parts.order, member->order))
        return true;
    move(member, CLUSTER_SEND_ORDERED);
    cluster_order_wait(send->parts.order, member->order);
    if (misses && member->timer == 0)
        member->timer = cluster_timers_set(send->timers, &over);
    if (member->retry != 0)
        (void)cluster_retry_done(send->parts.retry, member->retry, now_ns);
    member->retry = 0;
    return false;
}

static void note_admitted(struct cluster_send *send, struct cluster_open_member *member)
{
    if (member->order == 0)
        return;
    cluster_order_admit(send->parts.order, member->order);
    (void)cluster_timers_clear(send->timers, member->timer);
    member->timer = 0;
    member->after = 0;
}

static void receive(struct cluster_send *send, uint32_t place, uint64_t lineage, uint64_t now_ns)
{
    struct cluster_open_member *member = member_at(send, place);
    const struct cluster_open_call *call = call_at(send, member->call);
    const struct cluster_dedup_call asks = cluster_open_calls_asks(call, member);
    struct cluster_receive_result result;

    if (!is_its_turn(send, place, now_ns))
        return;
    cluster_receive_call(&send->parts.receive, &asks, call->payload, call->asked.deadline_ns,
                         &result);
    if (result.outcome == CLUSTER_RECEIVED_BUSY) {
        wait_for_turn(send, place, now_ns);
        return;
    }
    if (result.outcome == CLUSTER_RECEIVED_RUNS) {
        move(member, CLUSTER_SEND_RUNNING);
        member->lineage = lineage;
        note_admitted(send, member);
        if (member->retry != 0)
            (void)cluster_retry_done(send->parts.retry, member->retry, now_ns);
        member->retry = 0;
        return;
    }
    end_member(send, place, &result.answer, now_ns);
    if (result.answer.payload != 0)
        cluster_payload_drop(send->parts.receive.payload, result.answer.payload);
}

static void look(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_member *member = member_at(send, place);
    const struct cluster_open_call *call = call_at(send, member->call);
    struct cluster_resolve_target target;
    int status = cluster_resolve_target(&send->parts.resolve, call->asked.pool, member->container,
                                        0, &target);

    if (status == 0 && target.copying &&
        cluster_held_ends_chain_runs(send->parts.receive.dedup, call->asked.pool, member->container,
                                     call->asked.chain))
        target.way = CLUSTER_WAY_RUN;
    if (status < 0)
        fail_member(send, place, status, now_ns);
    else if (target.way == CLUSTER_WAY_RUN)
        receive(send, place, target.lineage, now_ns);
    else if (target.way == CLUSTER_WAY_WAIT)
        park(send, place, now_ns);
    else if (call->pinned)
        fail_member(send, place,
                    rapahub_fail(RAPAHUB_ENOTLOCAL, "cluster.resolve.query",
                                 "container %u is not on the node that was meant any more",
                                 member->container),
                    now_ns);
    else
        wait_for_turn(send, place, now_ns);
}

static void look_again(struct cluster_send *send, uint64_t member, uint64_t now_ns)
{
    uint32_t place = place_of(send, member);

    CHECK(place != 0);
    move(member_at(send, place), CLUSTER_SEND_LOOKING);
    look(send, place, now_ns);
}

/* ---- a call ---- */

/* The call may end within: then so do the looks. */
static void look_for_all(struct cluster_send *send, uint32_t call_place, uint64_t now_ns)
{
    uint32_t place = call_at(send, call_place)->members;
    uint64_t next = member_at(send, place)->id;

    while ((place = place_of(send, next)) != 0) {
        uint32_t after = member_at(send, place)->next;

        next = after != 0 ? member_at(send, after)->id : 0;
        look(send, place, now_ns);
    }
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
    if (send->open.calls.count >= send->limits.calls ||
        send->open.members.count + members->count > send->limits.calls ||
        cluster_effects_space(send->parts.receive.effects) < members->count + 1)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.call.bounds", "at most %u calls are open",
                            send->limits.calls);
    return 0;
}

/* A call before it that is open is waited for in the order. */
static void join_order(struct cluster_send *send, uint32_t call_place)
{
    const struct cluster_open_call *call = call_at(send, call_place);

    for (uint32_t place = call->members; place != 0; place = member_at(send, place)->next) {
        struct cluster_open_member *member = member_at(send, place);
        const struct cluster_order_call ordered = {
            cluster_open_calls_order(call, member->container), call->asked.uid.number, member->id};

        if (cluster_order_has(send->parts.order, &ordered.key, member->after))
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

    call_at(send, place)->timer = cluster_timers_set(send->timers, &deadline);
    if (call->asked.order != 0)
        join_order(send, place);
    cluster_effects_reserve(send->parts.receive.effects, members->count + 1);
    return place;
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
    call.payload = cluster_payload_keep(send->parts.receive.payload, &asked->body);
    if (call.payload == 0)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.call.bounds",
                            "the limit is reached of the bodies that are kept");
    look_for_all(send, add_call(send, &call, &members), now_ns);
    return 0;
}

bool cluster_send_cancel(struct cluster_send *send, uint64_t number, uint64_t now_ns)
{
    const struct cluster_dedup_answer answer = {.status = RAPAHUB_ECANCELED};
    uint32_t place = cluster_open_calls_find(&send->open, number);

    if (place != 0)
        end_call(send, place, 0, &answer, now_ns);
    return place != 0;
}

void cluster_send_ended(struct cluster_send *send, uint64_t asker,
                        const struct cluster_dedup_answer *answer, uint64_t now_ns)
{
    uint32_t place = place_of(send, asker);

    if (place != 0)
        end_member(send, place, answer, now_ns);
}

void cluster_send_down(struct cluster_send *send, uint64_t pool, uint32_t container,
                       uint64_t now_ns)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&send->open.members, place)) != 0) {
        struct cluster_open_member *member = member_at(send, place);

        if (member->state != CLUSTER_SEND_RUNNING || member->container != container ||
            call_at(send, member->call)->asked.pool != pool)
            continue;
        member->maybe = true;
        if (member->order != 0)
            cluster_order_lose(send->parts.order, member->order);
        move(member, CLUSTER_SEND_LOOKING);
        look(send, place, now_ns);
    }
}

void cluster_send_changed(struct cluster_send *send, uint64_t pool, uint32_t container,
                          uint64_t now_ns)
{
    uint32_t waiting = cluster_parking_figures(send->parts.parking, pool, container).calls;
    uint64_t id;

    while (waiting-- > 0 && cluster_parking_take(send->parts.parking, pool, container, &id)) {
        look_again(send, id, now_ns);
    }
    cluster_retry_hurry(send->parts.retry, pool, container, now_ns);
}

static void end_wait(struct cluster_send *send, const struct cluster_timer *timer, uint64_t now_ns)
{
    struct cluster_dedup_answer over = {.status = RAPAHUB_ETIMEDOUT};
    uint32_t place = (uint32_t)timer->number;
    const struct cluster_open_call *call;

    if (timer->kind == TIMER_ORDERED) {
        member_at(send, place)->timer = 0;
        fail_member(send, place,
                    rapahub_fail(RAPAHUB_EBUSY, "cluster.order.admit",
                                 "the call before it in its order has not come"),
                    now_ns);
        return;
    }
    call = call_at(send, place);
    if (call->single && member_at(send, call->members)->state == CLUSTER_SEND_WAITING)
        over.status = RAPAHUB_ENETTIMEOUT;
    end_call(send, place, 0, &over, now_ns);
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
        look_again(send, member, now_ns);
    while (cluster_retry_take(send->parts.retry, now_ns, &due)) {
        CHECK(!due.over);
        look_again(send, due.number, now_ns);
        while (cluster_order_take(send->parts.order, &member))
            look_again(send, member, now_ns);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/look.h"

#include <rapahub/error.h>

#include "cluster/core/calls/held_ends.h"
#include "cluster/wire/body.h"
#include "hub/base/check.h"

static bool is_of_another(const struct cluster_open_call *call)
{
    return call->asked.from.node != 0;
}

/* ---- it waits ---- */

static void leave_retry(struct cluster_send *send, struct cluster_open_member *member,
                        uint64_t now_ns)
{
    if (member->retry != 0)
        (void)cluster_retry_done(send->parts.retry, member->retry, now_ns);
    member->retry = 0;
}

static void wait_for_turn(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    const struct cluster_retry_call again = cluster_open_calls_again(call, member);
    int status = 0;

    if (member->retry != 0)
        (void)cluster_retry_again(send->parts.retry, member->retry, now_ns);
    else
        status = cluster_retry_add(send->parts.retry, &again, now_ns, &member->retry);
    if (status < 0)
        cluster_call_ends_fail(send, place, status, now_ns);
    else
        cluster_call_ends_move(member, CLUSTER_SEND_WAITING);
}

/* The sender of a call tries again, or its node does. */
static void wait_for_room(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_call *call =
        cluster_call_ends_call(send, cluster_call_ends_member(send, place)->call);

    if (is_of_another(call))
        cluster_call_ends_refuse(
            send, place, &(struct cluster_call_ends_refusal){.reason = CLUSTER_NACK_BUSY}, now_ns);
    else
        wait_for_turn(send, place, now_ns);
}

/* It is not tried again while it is parked. */
static void park(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    const struct cluster_parking_call parked = {
        call->asked.pool, member->container, member->id,
        call->single ? cluster_payload_weight(&call->asked.body) : sizeof *member};
    int status = cluster_parking_park(send->parts.parking, &parked, &member->wait);

    if (status < 0) {
        cluster_call_ends_fail(send, place, status, now_ns);
        return;
    }
    cluster_call_ends_move(member, CLUSTER_SEND_PARKED);
    leave_retry(send, member, now_ns);
}

static void set_timer(struct cluster_send *send, uint32_t place, enum cluster_send_timer kind,
                      uint64_t at_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);

    if (member->timer == 0)
        member->timer = cluster_timers_set(
            send->timers, &(struct cluster_timer){.at_ns = at_ns, .number = place, .kind = kind});
}

static void clear_timer(struct cluster_send *send, struct cluster_open_member *member)
{
    (void)cluster_timers_clear(send->timers, member->timer);
    member->timer = 0;
}

/* ---- its turn ---- */

/* Returns whether it is the turn of a call; else it waits, but for a call that does not come only
 * for a while. */
static bool is_its_turn(struct cluster_send *send, uint32_t place, bool misses, uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);

    if (member->order == 0)
        return true;
    if (!misses && cluster_order_may(send->parts.order, member->order))
        return true;
    cluster_call_ends_move(member, CLUSTER_SEND_ORDERED);
    cluster_order_wait(send->parts.order, member->order, misses);
    if (misses)
        set_timer(send, place, CLUSTER_SEND_ORDER_OVER, now_ns + CLUSTER_SEND_ORDERED_NS);
    leave_retry(send, member, now_ns);
    return false;
}

/* Where another node sees to the calls of an order those before this one may leave, and come again
 * after it, when the container begins anew. */
static void note_admitted(struct cluster_send *send, struct cluster_open_member *member)
{
    if (member->order == 0)
        return;
    cluster_order_admit(send->parts.order, member->order);
    clear_timer(send, member);
    if (!is_of_another(cluster_call_ends_call(send, member->call)))
        member->after = 0;
}

/* Says whether the call before it has not come. r[impl cluster.peer.order] */
static bool misses(const struct cluster_send *send, const struct cluster_open_call *call,
                   const struct cluster_open_member *member)
{
    const struct cluster_order_key key = cluster_open_calls_order(call, member->container);

    return cluster_open_calls_misses(call, member, send->parts.receive.dedup) &&
           !cluster_order_has(send->parts.order, &key, member->after);
}

/* ---- it runs here ---- */

static void receive(struct cluster_send *send, uint32_t place, uint64_t token, uint64_t lineage,
                    uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    const struct cluster_dedup_call asks = cluster_open_calls_asks(call, member);
    struct cluster_receive_result result;

    if (!is_its_turn(send, place, member->after != 0 && misses(send, call, member), now_ns))
        return;
    member->token = token;
    cluster_receive_call(&send->parts.receive, &asks, call->payload, call->asked.deadline_ns,
                         &result);
    if (result.outcome == CLUSTER_RECEIVED_BUSY) {
        wait_for_room(send, place, now_ns);
        return;
    }
    if (result.outcome == CLUSTER_RECEIVED_RUNS) {
        cluster_call_ends_move(member, CLUSTER_SEND_RUNNING);
        member->lineage = lineage;
        note_admitted(send, member);
        leave_retry(send, member, now_ns);
        return;
    }
    cluster_call_ends_member_ended(send, place, &result.answer, now_ns);
    if (result.answer.payload != 0)
        cluster_payload_drop(send->parts.receive.payload, result.answer.payload);
}

/* ---- it is sent ---- */

/* The lineage that may admit it is chosen here, where the call was made, and stays once an attempt
 * is lost: a container that has another one may be the next life of the one that has admitted it.
 * r[impl cluster.peer.lineage] */
static void choose_lineage(struct cluster_send *send, struct cluster_open_member *member,
                           const struct cluster_open_call *call,
                           const struct cluster_resolve_target *target)
{
    uint64_t known = cluster_known_lives_get(send->parts.lives, call->asked.pool, member->container,
                                             cluster_ids_epoch(target->token));

    if (!member->maybe && !is_of_another(call))
        member->lineage = known != 0 ? known : target->lineage;
}

static void emit(struct cluster_send *send, const struct cluster_open_call *call,
                 const struct cluster_open_member *member, uint64_t token)
{
    struct cluster_payload_body body =
        cluster_payload_body(send->parts.receive.payload, call->payload);
    uint64_t before =
        member->order != 0 ? cluster_order_previous(send->parts.order, member->order) : 0;
    const struct cluster_peer_frame frame = {
        .node = member->node,
        .type = CLUSTER_FRAME_CALL,
        .ttl = (uint8_t)(is_of_another(call) ? call->asked.from.ttl - 1 : CLUSTER_FRAME_TTL),
        .maybe = member->maybe,
        .repeat = call->method.repeat,
        .pinned = call->pinned != 0,
        .attempt = member->attempt,
        .uid = call->asked.uid,
        .pool = call->asked.pool,
        .container = member->container,
        .order = call->asked.order,
        .token = token,
        .lineage = member->lineage,
        .revision = send->parts.resolve.catch_up->revision,
        .method = call->asked.method,
        .chain = call->asked.chain,
        .order_previous = before != 0 ? before : member->after,
        .done_below = call->asked.done_below,
        .deadline_ns = call->asked.deadline_ns};

    cluster_effects_add(send->parts.receive.effects,
                        &(struct cluster_effect){.kind = CLUSTER_EFFECT_SEND,
                                                 .frame = &frame,
                                                 .payload = body.number,
                                                 .body = body.bytes});
}

/* A call that is under way already, under the same uid, is not sent twice: one answer is for both.
 * False: it is another call. */
static bool join(struct cluster_send *send, uint32_t place, uint32_t other)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_member *twin = cluster_call_ends_member(send, other);
    const struct cluster_send_call *asked = &cluster_call_ends_call(send, member->call)->asked,
                                   *twins = &cluster_call_ends_call(send, twin->call)->asked;

    if (asked->method != twins->method || asked->digest != twins->digest)
        return false;
    member->attempt = twin->attempt;
    member->lineage = member->maybe ? member->lineage : twin->lineage;
    return true;
}

static uint32_t next_attempt(struct cluster_send *send)
{
    return ++send->attempts % CLUSTER_PEER_FRAME_ATTEMPTS;
}

static void go(struct cluster_send *send, uint32_t place,
               const struct cluster_resolve_target *target, uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    const struct cluster_open_calls_sent same = {.uid = call->asked.uid,
                                                 .pool = call->asked.pool,
                                                 .container = member->container,
                                                 .node = target->node,
                                                 .attempt = CLUSTER_OPEN_CALLS_ANY};
    uint32_t twin = cluster_open_calls_find_sent(&send->open, &same);

    if (twin != 0 && !join(send, place, twin)) {
        cluster_call_ends_fail(send, place,
                               rapahub_fail(RAPAHUB_EMAYBE, "cluster.dedup.other",
                                            "another call with this uid is under way"),
                               now_ns);
        return;
    }
    clear_timer(send, member);
    member->node = target->node;
    if (twin == 0) {
        choose_lineage(send, member, call, target);
        member->attempt = next_attempt(send);
        emit(send, call, member, target->token);
    }
    cluster_call_ends_sent(send, place);
    if (member->order != 0)
        cluster_order_admit(send->parts.order, member->order);
    leave_retry(send, member, now_ns);
}

/* The map that a refusal named is waited for, but not for ever: what a node says need not be so.
 * r[impl cluster.peer.send] */
static bool may_go(const struct cluster_send *send, const struct cluster_open_member *member,
                   uint32_t node, uint64_t now_ns)
{
    bool behind = now_ns < member->awaited_ns &&
                  cluster_resolve_is_behind(&send->parts.resolve, member->awaited);

    return !behind && cluster_peers_may_send(send->parts.peers, node) &&
           cluster_effects_space(send->parts.receive.effects) > 0;
}

static void cross(struct cluster_send *send, uint32_t place,
                  const struct cluster_resolve_target *target, uint64_t now_ns)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);

    if (!may_go(send, member, target->node, now_ns))
        wait_for_room(send, place, now_ns);
    else if (is_its_turn(send, place, false, now_ns))
        go(send, place, target, now_ns);
}

/* ---- a call of this node ---- */

/* A call that is meant on a node is not looked for elsewhere, and streams do not leave theirs.
 * r[impl cluster.peer.streams] */
static int check_way(const struct cluster_send *send, const struct cluster_open_member *member,
                     const struct cluster_resolve_target *target)
{
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    uint32_t node = target->way == CLUSTER_WAY_SEND ? target->node : send->parts.resolve.node;

    if (call->pinned != 0 && (target->way == CLUSTER_WAY_NOWHERE || node != call->pinned))
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "cluster.resolve.query",
                            "container %u is not on the node that was meant any more",
                            member->container);
    if (target->way == CLUSTER_WAY_SEND && call->asked.streams)
        return rapahub_fail(RAPAHUB_ENOTLOCAL, "cluster.peer.streams",
                            "container %u is on node %u: a call with streams does not leave its "
                            "node, so make it there",
                            member->container, node);
    return 0;
}

static void follow(struct cluster_send *send, uint32_t place,
                   const struct cluster_resolve_target *target, uint64_t now_ns)
{
    int status = check_way(send, cluster_call_ends_member(send, place), target);

    if (status < 0)
        cluster_call_ends_fail(send, place, status, now_ns);
    else if (target->way == CLUSTER_WAY_RUN)
        receive(send, place, target->token, target->lineage, now_ns);
    else if (target->way == CLUSTER_WAY_WAIT)
        park(send, place, now_ns);
    else if (target->way == CLUSTER_WAY_SEND)
        cross(send, place, target, now_ns);
    else
        wait_for_turn(send, place, now_ns);
}

static bool chain_runs(const struct cluster_send *send, const struct cluster_open_call *call,
                       uint32_t container)
{
    return cluster_held_ends_chain_runs(send->parts.receive.dedup, call->asked.pool, container,
                                        call->asked.chain);
}

static void look_own(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    struct cluster_resolve_target target;
    int status = cluster_resolve_target(&send->parts.resolve, call->asked.pool, member->container,
                                        0, &target);

    if (status == 0 && target.copying && chain_runs(send, call, member->container))
        target.way = CLUSTER_WAY_RUN;
    if (status < 0)
        cluster_call_ends_fail(send, place, status, now_ns);
    else
        follow(send, place, &target, now_ns);
}

/* ---- a call of another node ---- */

static void refuse(struct cluster_send *send, uint32_t place,
                   const struct cluster_resolve_verdict *verdict, uint64_t now_ns)
{
    const struct cluster_call_ends_refusal refusal = {verdict->reason, verdict->node,
                                                      verdict->epoch, verdict->lineage};

    cluster_call_ends_refuse(send, place, &refusal, now_ns);
}

/* The container has the epoch that is meant, but may have begun anew in it: then another lineage
 * admits calls, which the sender did not mean. r[impl cluster.peer.lineage] */
static void run_arrived(struct cluster_send *send, uint32_t place,
                        struct cluster_resolve_verdict *verdict, uint64_t now_ns)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);

    if (!member->maybe && !verdict->method.repeat && member->lineage != verdict->lineage) {
        verdict->reason = CLUSTER_NACK_MOVED;
        verdict->node = send->parts.resolve.node;
        verdict->epoch = cluster_ids_epoch(verdict->token);
        refuse(send, place, verdict, now_ns);
        return;
    }
    receive(send, place, verdict->token, verdict->lineage, now_ns);
}

/* r[impl cluster.peer.behind] */
static void follow_arrived(struct cluster_send *send, uint32_t place,
                           struct cluster_resolve_verdict *verdict, uint64_t now_ns)
{
    const struct cluster_resolve_target next = {.way = CLUSTER_WAY_SEND,
                                                .node = verdict->node,
                                                .token = verdict->token,
                                                .lineage = verdict->lineage};

    switch (verdict->step) {
    case CLUSTER_ARRIVED_RUN:
        run_arrived(send, place, verdict, now_ns);
        return;
    case CLUSTER_ARRIVED_WAIT:
        park(send, place, now_ns);
        return;
    case CLUSTER_ARRIVED_BEHIND:
        set_timer(send, place, CLUSTER_SEND_MAP_OVER, now_ns + CLUSTER_LOOK_BEHIND_NS);
        wait_for_turn(send, place, now_ns);
        return;
    case CLUSTER_ARRIVED_FORWARD:
        cross(send, place, &next, now_ns);
        return;
    case CLUSTER_ARRIVED_REFUSE:
        refuse(send, place, verdict, now_ns);
        return;
    }
}

static void look_arrived(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);
    struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    const struct cluster_resolve_arrival arrival = {.pool = call->asked.pool,
                                                    .method = call->asked.method,
                                                    .container = member->container,
                                                    .ttl = call->asked.from.ttl,
                                                    .token = call->asked.from.token,
                                                    .lineage = call->asked.lineage,
                                                    .revision = call->asked.from.revision,
                                                    .pinned = call->pinned != 0};
    struct cluster_resolve_verdict verdict;

    cluster_resolve_arrived(&send->parts.resolve, &arrival, &verdict);
    call->method = verdict.method;
    if (verdict.copying && chain_runs(send, call, member->container))
        verdict.step = CLUSTER_ARRIVED_RUN;
    follow_arrived(send, place, &verdict, now_ns);
}

/* ---- looks ---- */

void cluster_look_for(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);

    if (is_of_another(cluster_call_ends_call(send, member->call)))
        look_arrived(send, place, now_ns);
    else
        look_own(send, place, now_ns);
}

void cluster_look_again(struct cluster_send *send, uint64_t member, uint64_t now_ns)
{
    uint32_t place = cluster_open_calls_find_member(&send->open, member);

    CHECK(place != 0);
    cluster_call_ends_move(cluster_call_ends_member(send, place), CLUSTER_SEND_LOOKING);
    cluster_look_for(send, place, now_ns);
}

/* ---- what became of an attempt ---- */

static void bring_back(struct cluster_send *send, uint32_t place)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);

    cluster_call_ends_back(send, place);
    member->tries++;
    if (member->order != 0)
        cluster_order_lose(send->parts.order, member->order);
}

/* A node that has handed it on does not try again: the one where it was made knows more.
 * r[impl cluster.peer.lost] */
void cluster_look_lost(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);

    bring_back(send, place);
    member->maybe = true;
    if (is_of_another(cluster_call_ends_call(send, member->call)))
        cluster_call_ends_refuse(
            send, place, &(struct cluster_call_ends_refusal){.reason = CLUSTER_NACK_LOST}, now_ns);
    else
        cluster_look_for(send, place, now_ns);
}

/* Where the refusal says what is right it is sent again at once, a few times: what a node says need
 * not be so. r[impl cluster.peer.nack] */
void cluster_look_refused(struct cluster_send *send, uint32_t place,
                          const struct cluster_look_refusal *refusal, uint64_t now_ns)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    bool learnt = cluster_known_lives_put(send->parts.lives, call->asked.pool, member->container,
                                          refusal->epoch, refusal->lineage);
    bool behind = cluster_resolve_is_behind(&send->parts.resolve, refusal->revision);

    bring_back(send, place);
    member->awaited = behind ? refusal->revision : 0;
    member->awaited_ns = behind ? now_ns + CLUSTER_LOOK_AWAITED_NS : 0;
    if (learnt && !behind && member->tries <= CLUSTER_LOOK_AT_ONCE)
        cluster_look_for(send, place, now_ns);
    else
        wait_for_turn(send, place, now_ns);
}

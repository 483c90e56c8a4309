/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/call_ends.h"

#include <rapahub/error.h>

#include "cluster/wire/body.h"
#include "hub/base/check.h"

const struct hub_states cluster_send_states = {
    "cluster.send",
    {[CLUSTER_SEND_LOOKING] = {"LOOKING",
                               HUB_TO(CLUSTER_SEND_PARKED) | HUB_TO(CLUSTER_SEND_WAITING) |
                                   HUB_TO(CLUSTER_SEND_ORDERED) | HUB_TO(CLUSTER_SEND_RUNNING) |
                                   HUB_TO(CLUSTER_SEND_SENT)},
     [CLUSTER_SEND_PARKED] = {"PARKED", HUB_TO(CLUSTER_SEND_LOOKING)},
     [CLUSTER_SEND_WAITING] = {"WAITING", HUB_TO(CLUSTER_SEND_LOOKING)},
     [CLUSTER_SEND_ORDERED] = {"ORDERED", HUB_TO(CLUSTER_SEND_LOOKING)},
     [CLUSTER_SEND_RUNNING] = {"RUNNING", HUB_TO(CLUSTER_SEND_LOOKING)},
     [CLUSTER_SEND_SENT] = {"SENT", HUB_TO(CLUSTER_SEND_LOOKING)}}};

struct cluster_open_call *cluster_call_ends_call(const struct cluster_send *send, uint32_t place)
{
    return cluster_open_calls_at(&send->open, place);
}

struct cluster_open_member *cluster_call_ends_member(const struct cluster_send *send,
                                                     uint32_t place)
{
    return cluster_open_calls_member(&send->open, place);
}

void cluster_call_ends_move(struct cluster_open_member *member, enum cluster_send_state to)
{
    CHECK(hub_states_may(&cluster_send_states, member->state, to));
    member->state = to;
}

/* ---- members at other nodes ---- */

void cluster_call_ends_sent(struct cluster_send *send, uint32_t place)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);

    cluster_call_ends_move(member, CLUSTER_SEND_SENT);
    cluster_open_calls_note_sent(&send->open, place);
    cluster_peers_count_sent(send->parts.peers, member->node, 1);
}

void cluster_call_ends_back(struct cluster_send *send, uint32_t place)
{
    struct cluster_open_member *member = cluster_call_ends_member(send, place);

    cluster_open_calls_note_back(&send->open, place);
    cluster_peers_count_sent(send->parts.peers, member->node, -1);
    cluster_call_ends_move(member, CLUSTER_SEND_LOOKING);
}

static struct cluster_peer_frame frame_of(const struct cluster_send *send,
                                          const struct cluster_open_call *call, uint8_t type)
{
    return (struct cluster_peer_frame){.type = type,
                                       .node = call->asked.from.node,
                                       .attempt = call->asked.from.attempt,
                                       .uid = call->asked.uid,
                                       .pool = call->asked.pool,
                                       .container = call->asked.query.offset,
                                       .revision = send->parts.resolve.catch_up->revision};
}

/* The other node may go on with it otherwise, until its deadline. Another member that waits for the
 * same answer is still there then. r[impl cluster.peer.cancel] */
static void cancel(struct cluster_send *send, uint32_t place)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    const struct cluster_open_calls_sent same = {.uid = call->asked.uid,
                                                 .pool = call->asked.pool,
                                                 .container = member->container,
                                                 .node = member->node,
                                                 .attempt = member->attempt,
                                                 .but = place};
    struct cluster_peer_frame frame = frame_of(send, call, CLUSTER_FRAME_CANCEL);

    if (!cluster_peers_find(send->parts.peers, member->node)->up ||
        cluster_effects_space(send->parts.receive.effects) == 0 ||
        cluster_open_calls_find_sent(&send->open, &same) != 0)
        return;
    frame.node = member->node;
    frame.attempt = member->attempt;
    frame.container = member->container;
    cluster_effects_add(send->parts.receive.effects,
                        &(struct cluster_effect){.kind = CLUSTER_EFFECT_SEND, .frame = &frame});
}

/* ---- a member leaves ---- */

/* Wherever the member waits, it leaves. A run goes on, and its end finds no asker. */
static void remove_member(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);

    if (member->state == CLUSTER_SEND_SENT) {
        cancel(send, place);
        cluster_call_ends_back(send, place);
    }
    if (member->state == CLUSTER_SEND_PARKED)
        (void)cluster_parking_remove(send->parts.parking, member->wait);
    if (member->retry != 0)
        (void)cluster_retry_done(send->parts.retry, member->retry, now_ns);
    if (member->order != 0)
        cluster_order_end(send->parts.order, member->order);
    (void)cluster_timers_clear(send->timers, member->timer);
    cluster_open_calls_remove_member(&send->open, place);
}

/* The places for the ends of its members are not needed. */
static void drop_members(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    const struct cluster_open_call *call = cluster_call_ends_call(send, place);

    while (call->members != 0) {
        cluster_effects_unreserve(send->parts.receive.effects, 1);
        remove_member(send, call->members, now_ns);
    }
}

/* It has no members any more. */
static void remove_call(struct cluster_send *send, uint32_t place)
{
    const struct cluster_open_call *call = cluster_call_ends_call(send, place);

    (void)cluster_timers_clear(send->timers, call->timer);
    if (call->asked.from.node != 0)
        cluster_peers_count_came(send->parts.peers, call->asked.from.node, -1,
                                 cluster_payload_weight(&call->asked.body));
    cluster_payload_drop(send->parts.receive.payload, call->payload);
    cluster_open_calls_remove(&send->open, place);
}

/* ---- the caller is told ---- */

/* There is a place for it. */
static void tell(struct cluster_send *send, struct cluster_effect *effect, uint32_t payload)
{
    struct cluster_payload_body body = {.number = 0};

    if (payload != 0)
        body = cluster_payload_body(send->parts.receive.payload, payload);
    effect->payload = body.number;
    effect->body = body.bytes;
    cluster_effects_unreserve(send->parts.receive.effects, 1);
    cluster_effects_add(send->parts.receive.effects, effect);
}

static void tell_here(struct cluster_send *send, const struct cluster_open_call *call, uint8_t kind,
                      uint32_t container, const struct cluster_dedup_answer *answer)
{
    struct cluster_effect effect = {.number = call->asked.number,
                                    .pool = call->asked.pool,
                                    .container = container,
                                    .status = answer->status,
                                    .application = answer->application,
                                    .kind = kind};

    tell(send, &effect, answer->payload);
}

/* The life in which it has run, or that it was meant for where it has not. */
static void tell_there(struct cluster_send *send, const struct cluster_open_call *call,
                       const struct cluster_open_member *member,
                       const struct cluster_dedup_answer *answer)
{
    struct cluster_peer_frame frame = frame_of(send, call, CLUSTER_FRAME_RESULT);
    struct cluster_effect effect = {.kind = CLUSTER_EFFECT_SEND, .frame = &frame};

    frame.token = member->token != 0 ? member->token : call->asked.from.token;
    frame.lineage = member->lineage;
    frame.status = answer->status;
    frame.application = answer->application;
    tell(send, &effect, answer->payload);
}

/* ---- ends ---- */

/* r[impl cluster.call.once] */
void cluster_call_ends_call_ended(struct cluster_send *send, uint32_t place, uint32_t container,
                                  const struct cluster_dedup_answer *answer, uint64_t now_ns)
{
    const struct cluster_open_call *call = cluster_call_ends_call(send, place);
    struct cluster_open_member member = {.token = 0};

    if (call->asked.from.node != 0)
        member = *cluster_call_ends_member(send, call->members);
    drop_members(send, place, now_ns);
    if (call->asked.from.node != 0)
        tell_there(send, call, &member, answer);
    else
        tell_here(send, call, CLUSTER_EFFECT_ANSWER, container, answer);
    remove_call(send, place);
}

void cluster_call_ends_member_ended(struct cluster_send *send, uint32_t place,
                                    const struct cluster_dedup_answer *answer, uint64_t now_ns)
{
    uint32_t call_place = cluster_call_ends_member(send, place)->call;
    uint32_t container = cluster_call_ends_member(send, place)->container;
    struct cluster_open_call *call = cluster_call_ends_call(send, call_place);
    struct cluster_dedup_answer end = {.status = 0};

    if (call->single) {
        cluster_call_ends_call_ended(send, call_place, container, answer, now_ns);
        return;
    }
    tell_here(send, call, CLUSTER_EFFECT_EACH, container, answer);
    if (call->status == 0)
        call->status = answer->status;
    remove_member(send, place, now_ns);
    end.status = call->status;
    if (call->members == 0 || (call->status != 0 && !call->asked.collect))
        cluster_call_ends_call_ended(send, call_place, container, &end, now_ns);
}

/* Its caller gets the text of the last failure. r[impl cluster.call.lineage] */
void cluster_call_ends_fail(struct cluster_send *send, uint32_t place, int status, uint64_t now_ns)
{
    struct cluster_payload *payload = send->parts.receive.payload;
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);
    const struct cluster_open_call *call = cluster_call_ends_call(send, member->call);
    struct cluster_dedup_answer answer = {.status = member->maybe ? RAPAHUB_EMAYBE : status};

    if (call->asked.from.node != 0 && status == RAPAHUB_EBUSY) {
        cluster_call_ends_refuse(
            send, place, &(struct cluster_call_ends_refusal){.reason = CLUSTER_NACK_BUSY}, now_ns);
        return;
    }
    answer.payload = cluster_payload_keep_text(payload, rapahub_last_error()->text);
    cluster_call_ends_member_ended(send, place, &answer, now_ns);
    if (answer.payload != 0)
        cluster_payload_drop(payload, answer.payload);
}

/* A refusal says that the attempt was not admitted. If it was, here or by a node that it was handed
 * on to, it is lost instead: its sender finds out. r[impl cluster.peer.nack] */
void cluster_call_ends_refuse(struct cluster_send *send, uint32_t place,
                              const struct cluster_call_ends_refusal *refusal, uint64_t now_ns)
{
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);
    uint32_t call_place = member->call;
    const struct cluster_open_call *call = cluster_call_ends_call(send, call_place);
    struct cluster_peer_frame frame = frame_of(send, call, CLUSTER_FRAME_NACK);
    struct cluster_effect effect = {.kind = CLUSTER_EFFECT_SEND, .frame = &frame};
    bool lost = member->maybe && !call->asked.maybe;

    frame.reason = lost ? CLUSTER_NACK_LOST : refusal->reason;
    frame.owner = refusal->owner;
    frame.epoch = refusal->epoch;
    frame.lineage = refusal->lineage;
    drop_members(send, call_place, now_ns);
    tell(send, &effect, 0);
    remove_call(send, call_place);
}

void cluster_call_ends_forget(struct cluster_send *send, uint32_t place, uint64_t now_ns)
{
    drop_members(send, place, now_ns);
    cluster_effects_unreserve(send->parts.receive.effects, 1);
    remove_call(send, place);
}

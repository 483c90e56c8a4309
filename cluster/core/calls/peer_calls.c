/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/peer_calls.h"

#include <rapahub/error.h>

#include "cluster/core/calls/look.h"
#include "cluster/wire/body.h"
#include "hub/base/check.h"

/* Histories tell nodes from the peers of this node by it. */
#define OF_NODES (UINT64_C(1) << 62)

/* ---- links ---- */

/* Calls of the node end unheard: it sends them again, with the same uid. r[impl cluster.peer.lost]
 */
static void forget_calls(struct cluster_send *send, uint32_t node, uint64_t now_ns)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&send->open.calls, place)) != 0)
        if (cluster_call_ends_call(send, place)->asked.from.node == node)
            cluster_call_ends_forget(send, place, now_ns);
}

/* A call that ends may take others with it, of places that come later: they are gone then. */
static void lose_calls(struct cluster_send *send, uint32_t node, uint64_t now_ns)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&send->open.members, place)) != 0) {
        const struct cluster_open_member *member = cluster_call_ends_member(send, place);

        if (member->state == CLUSTER_SEND_SENT && member->node == node)
            cluster_look_lost(send, place, now_ns);
    }
}

void cluster_peer_calls_lost(struct cluster_send *send, uint32_t node, uint64_t now_ns)
{
    struct cluster_peer *peer = cluster_peers_find(send->parts.peers, node);

    if (!peer || !peer->up)
        return;
    peer->up = false;
    forget_calls(send, node, now_ns);
    lose_calls(send, node, now_ns);
}

/* r[impl cluster.peer.origins] */
static void end_session(struct cluster_send *send, struct cluster_peer *peer, uint64_t session)
{
    if (peer->session != 0 && peer->session != session)
        cluster_dedup_end_origin(send->parts.receive.dedup, peer->session);
    peer->session = session;
}

int cluster_peer_calls_up(struct cluster_send *send, uint32_t node, uint64_t session,
                          uint64_t now_ns)
{
    struct cluster_peer *peer = cluster_peers_add(send->parts.peers, node);

    if (!peer)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.peer.bounds", "at most %u other nodes",
                            send->limits.peers);
    cluster_peer_calls_lost(send, node, now_ns);
    end_session(send, peer, session);
    peer->up = true;
    cluster_retry_hurry_all(send->parts.retry, now_ns);
    return 0;
}

void cluster_peer_calls_left(struct cluster_send *send, uint32_t node, uint64_t now_ns)
{
    struct cluster_peer *peer = cluster_peers_find(send->parts.peers, node);

    if (!peer)
        return;
    cluster_peer_calls_lost(send, node, now_ns);
    end_session(send, peer, 0);
    cluster_peers_remove(send->parts.peers, node);
}

/* ---- CALL ---- */

static int no_room(const struct cluster_peer_frame *frame)
{
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.peer.bounds", "no room for a frame of node %u",
                        frame->node);
}

/* A body that is outside is needed no more. */
static bool discard(struct cluster_send *send, const struct cluster_payload_body *body)
{
    uint32_t kept = body->number != 0 ? cluster_payload_keep(send->parts.receive.payload, body) : 0;

    if (kept != 0)
        cluster_payload_drop(send->parts.receive.payload, kept);
    return kept != 0 || body->number == 0;
}

static int refuse_call(struct cluster_send *send, const struct cluster_peer_frame *frame,
                       const struct cluster_payload_body *body, uint8_t reason)
{
    struct cluster_effects_queue *effects = send->parts.receive.effects;
    const struct cluster_peer_frame nack = {.type = CLUSTER_FRAME_NACK,
                                            .node = frame->node,
                                            .reason = reason,
                                            .attempt = frame->attempt,
                                            .uid = frame->uid,
                                            .pool = frame->pool,
                                            .container = frame->container,
                                            .revision = send->parts.resolve.catch_up->revision};

    if (cluster_effects_space(effects) == 0 || !discard(send, body))
        return no_room(frame);
    cluster_effects_add(effects,
                        &(struct cluster_effect){.kind = CLUSTER_EFFECT_SEND, .frame = &nack});
    return 0;
}

static struct cluster_send_call call_of(const struct cluster_peer_frame *frame,
                                        const struct cluster_payload_body *body)
{
    return (struct cluster_send_call){
        .pool = frame->pool,
        .query = {.mode = CLUSTER_MODE_DIRECT, .offset = frame->container},
        .uid = frame->uid,
        .method = frame->method,
        .digest = frame->digest,
        .peer = OF_NODES | frame->node,
        .done_below = frame->done_below,
        .lineage = frame->lineage,
        .deadline_ns = frame->deadline_ns,
        .reserve = CLUSTER_PEER_CALLS_RESERVE,
        .chain = frame->chain,
        .order = frame->order,
        .order_previous = frame->order_previous,
        .maybe = frame->maybe,
        .body = *body,
        .from = {frame->node, frame->attempt, frame->ttl, frame->token, frame->revision}};
}

/* The one attempt may have come twice; a later one is in the place of the one before, which its
 * sender has given up. r[impl cluster.peer.once] */
static int take_call(struct cluster_send *send, const struct cluster_peer_frame *frame,
                     const struct cluster_payload_body *body, uint64_t now_ns)
{
    const struct cluster_send_call asked = call_of(frame, body);
    uint32_t place = cluster_open_calls_find_sent_by(&send->open, frame->node, frame->uid,
                                                     frame->pool, frame->container);

    if (place != 0 && cluster_call_ends_call(send, place)->asked.from.attempt == frame->attempt)
        return discard(send, body) ? 0 : no_room(frame);
    if (place != 0)
        cluster_call_ends_forget(send, place, now_ns);
    if (frame->deadline_ns <= now_ns)
        return refuse_call(send, frame, body, CLUSTER_NACK_EXPIRED);
    if (!cluster_peers_may_take(send->parts.peers, frame->node, cluster_payload_weight(body)) ||
        cluster_send_take(send, &asked, frame->pinned, now_ns) < 0)
        return refuse_call(send, frame, body, CLUSTER_NACK_BUSY);
    return 0;
}

/* ---- answers to a call that was sent ---- */

/* Returns the place of a member that waits for an answer to this attempt of the frame's call. */
static uint32_t find_sent(const struct cluster_send *send, const struct cluster_peer_frame *frame,
                          uint32_t attempt)
{
    const struct cluster_open_calls_sent sent = {.uid = frame->uid,
                                                 .pool = frame->pool,
                                                 .container = frame->container,
                                                 .node = frame->node,
                                                 .attempt = attempt};

    return cluster_open_calls_find_sent(&send->open, &sent);
}

/* Several members may wait for one answer. The attempt is over for all of them before the first one
 * does what follows, for that may be another attempt, which is not this one. */
static uint32_t next_over(struct cluster_send *send, const struct cluster_peer_frame *frame)
{
    uint32_t place;

    while ((place = find_sent(send, frame, frame->attempt)) != 0)
        cluster_call_ends_member(send, place)->attempt = CLUSTER_OPEN_CALLS_OVER;
    return find_sent(send, frame, CLUSTER_OPEN_CALLS_OVER);
}

static void take_result(struct cluster_send *send, const struct cluster_peer_frame *frame,
                        uint32_t payload, uint64_t now_ns)
{
    const struct cluster_dedup_answer answer = {frame->status, frame->application, payload};
    bool stale =
        cluster_resolve_is_stale(&send->parts.resolve, frame->pool, frame->container, frame->token);
    uint32_t place;

    while ((place = next_over(send, frame)) != 0) {
        if (stale) {
            cluster_look_lost(send, place, now_ns);
            continue;
        }
        (void)cluster_known_lives_put(send->parts.lives, frame->pool, frame->container,
                                      cluster_ids_epoch(frame->token), frame->lineage);
        cluster_call_ends_back(send, place);
        cluster_call_ends_member(send, place)->token = frame->token;
        cluster_call_ends_member(send, place)->lineage = frame->lineage;
        cluster_call_ends_member_ended(send, place, &answer, now_ns);
    }
}

/* The refusals after which a call is not sent again. UNKNOWN and VERSION are none: this node looks
 * into its own records, and finds the same, or tries on. */
static int end_of(uint8_t reason)
{
    switch (reason) {
    case CLUSTER_NACK_MAYBE:
        return RAPAHUB_EMAYBE;
    case CLUSTER_NACK_EXPIRED:
        return RAPAHUB_ETIMEDOUT;
    case CLUSTER_NACK_HOPS:
        return RAPAHUB_EHOPS;
    default:
        return 0;
    }
}

/* It was handed on, and its sender learns what was said. */
static void hand_back(struct cluster_send *send, uint32_t place,
                      const struct cluster_peer_frame *frame, uint64_t now_ns)
{
    const struct cluster_call_ends_refusal refusal = {frame->reason, frame->owner, frame->epoch,
                                                      frame->lineage};

    cluster_call_ends_back(send, place);
    cluster_call_ends_refuse(send, place, &refusal, now_ns);
}

static void end_refused(struct cluster_send *send, uint32_t place, int status, uint64_t now_ns)
{
    cluster_call_ends_back(send, place);
    cluster_call_ends_fail(
        send, place,
        rapahub_fail(status, "cluster.peer.nack", "the node of the container has refused the call"),
        now_ns);
}

static void take_nack_for(struct cluster_send *send, uint32_t place,
                          const struct cluster_peer_frame *frame, uint64_t now_ns)
{
    const struct cluster_look_refusal refusal = {frame->revision, frame->epoch, frame->lineage};
    const struct cluster_open_member *member = cluster_call_ends_member(send, place);
    int status = end_of(frame->reason);

    if (frame->reason == CLUSTER_NACK_LOST)
        cluster_look_lost(send, place, now_ns);
    else if (cluster_call_ends_call(send, member->call)->asked.from.node != 0)
        hand_back(send, place, frame, now_ns);
    else if (status < 0)
        end_refused(send, place, status, now_ns);
    else
        cluster_look_refused(send, place, &refusal, now_ns);
}

static void take_nack(struct cluster_send *send, const struct cluster_peer_frame *frame,
                      uint64_t now_ns)
{
    uint32_t place;

    while ((place = next_over(send, frame)) != 0)
        take_nack_for(send, place, frame, now_ns);
}

/* A run goes on. r[impl cluster.peer.cancel] */
static void take_cancel(struct cluster_send *send, const struct cluster_peer_frame *frame,
                        uint64_t now_ns)
{
    uint32_t place = cluster_open_calls_find_sent_by(&send->open, frame->node, frame->uid,
                                                     frame->pool, frame->container);

    if (place != 0 && cluster_call_ends_call(send, place)->asked.from.attempt == frame->attempt)
        cluster_call_ends_forget(send, place, now_ns);
}

/* ---- frames ---- */

static void take_answer(struct cluster_send *send, const struct cluster_peer_frame *frame,
                        uint32_t payload, uint64_t now_ns)
{
    if (frame->type == CLUSTER_FRAME_RESULT)
        take_result(send, frame, payload, now_ns);
    else if (frame->type == CLUSTER_FRAME_NACK)
        take_nack(send, frame, now_ns);
    else
        take_cancel(send, frame, now_ns);
}

int cluster_peer_calls_take(struct cluster_send *send, const struct cluster_peer_frame *frame,
                            const struct cluster_payload_body *body, uint64_t now_ns)
{
    const struct cluster_peer *peer = cluster_peers_find(send->parts.peers, frame->node);
    uint32_t kept;

    if (!peer || !peer->up)
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.peer.frames", "no link to node %u is up",
                            frame->node);
    if (frame->type == CLUSTER_FRAME_CALL)
        return take_call(send, frame, body, now_ns);
    kept = cluster_payload_keep(send->parts.receive.payload, body);
    if (kept == 0)
        return no_room(frame);
    take_answer(send, frame, kept, now_ns);
    cluster_payload_drop(send->parts.receive.payload, kept);
    return 0;
}

bool cluster_peer_calls_are_counted(const struct cluster_send *send)
{
    struct cluster_peers_figures figures = cluster_peers_figures(send->parts.peers);
    uint32_t came = 0, sent = 0, place = 0;

    while ((place = cluster_table_after(&send->open.calls, place)) != 0)
        came += cluster_call_ends_call(send, place)->asked.from.node != 0;
    while ((place = cluster_table_after(&send->open.members, place)) != 0)
        sent += cluster_call_ends_member(send, place)->state == CLUSTER_SEND_SENT;
    return came == figures.came && sent == figures.sent &&
           came <= figures.peers * send->limits.peer_calls &&
           figures.bytes <= figures.peers * send->limits.peer_bytes;
}

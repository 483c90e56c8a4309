/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/shm_call.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"

#define SIZE_MAX_HERE (64u * 1024) /* bytes of arguments; more go by the socket */
#define SMALL         1024         /* bytes of a request for which nothing is allocated */
#define FIXED         512          /* bytes of a request beside arguments and acknowledgements */
#define ROUNDS        4            /* times that its node may say that it goes elsewhere */

/* A call that goes to one container, and whose order with others does not matter. */
static bool is_for_shm(const struct cluster_client_call *call)
{
    const struct rapahub_query *query = &call->query;

    return cluster_ids_is_pool(call->pool) && !call->streams && call->typed.size <= SIZE_MAX_HERE &&
           query->order == 0 && !query->each && !query->collect &&
           cluster_client_call_is_single(call);
}

/* The end of a round. */
enum round {
    ROUND_ENDED,
    ROUND_AGAIN,  /* it goes to another container, which it names next */
    ROUND_UNSENT, /* it was not admitted */
    ROUND_MAYBE   /* it may have been */
};

struct run {
    struct cluster_client_calls *calls;
    struct cluster_client_call *call;
    struct cluster_shm_transport *shm;
    struct cluster_shared_call request;
    struct hub_answer *answer;
    struct cluster_client_end *end;
};

static enum round take_resolved(struct run *run, const struct cluster_body_resolved *resolved)
{
    struct cluster_list list = resolved->members;
    struct cluster_body_member member;

    if (list.count != 1 || !cluster_body_next_member(&list, &member))
        return ROUND_UNSENT;
    cluster_client_calls_aim(run->calls, run->call, &member);
    return ROUND_AGAIN;
}

static enum round take_result(struct run *run, const struct cluster_body_result *result)
{
    if (result->status > 0)
        return ROUND_MAYBE;
    *run->end = (struct cluster_client_end){.code = result->status,
                                            .application = result->application,
                                            .text = result->text,
                                            .payload = result->payload};
    return ROUND_ENDED;
}

static enum round take_answer(struct run *run, struct rapahub_bytes bytes)
{
    struct cluster_body body;
    uint8_t type = 0;

    if (cluster_shared_call_read_answer(bytes, &type, &body) < 0)
        return ROUND_MAYBE;
    switch (type) {
    case CLUSTER_FRAME_RESULT:
        return take_result(run, &body.result);
    case CLUSTER_FRAME_RESOLVED:
        return take_resolved(run, &body.resolved);
    case CLUSTER_FRAME_NACK:
        return ROUND_UNSENT;
    default:
        return ROUND_MAYBE; /* the answer waits, and is too large for this way */
    }
}

static enum round ask(struct run *run, uint8_t *memory, size_t room)
{
    struct cluster_shm_request request = {
        .memory = memory, .deadline_ns = run->call->deadline_ns, .answer = run->answer};
    struct hub_writer writer;

    hub_writer_init(&writer, memory + CLUSTER_SHM_TRANSPORT_HEAD,
                    room - CLUSTER_SHM_TRANSPORT_HEAD);
    if (cluster_shared_call_put(&writer, &run->request) < 0 ||
        writer.size > cluster_shm_transport_request_max(run->shm))
        return ROUND_UNSENT;
    request.size = writer.size;
    if (cluster_shm_transport_ask(run->shm, &request) < 0)
        return request.sent ? ROUND_MAYBE : ROUND_UNSENT;
    return take_answer(run, request.out);
}

/* `done_below` is what it was when the call began: it only rises meanwhile. */
static enum round make_round(struct run *run, uint64_t origin)
{
    struct cluster_shared_call *request = &run->request;
    uint64_t done_below = request->body.call.done_below;
    size_t room = CLUSTER_SHM_TRANSPORT_HEAD + FIXED + request->acks_count * sizeof(uint64_t) +
                  run->call->typed.size;
    OWN(hub_memory) uint8_t *large = NULL;
    uint8_t small[SMALL];
    enum round round;

    cluster_client_call_write(run->call, hub_clock_now(), &request->frame, &request->body);
    request->frame.uid.origin = origin;
    request->body.call.done_below = done_below;
    if (room <= sizeof small)
        return ask(run, small, sizeof small);
    large = malloc(room);
    round = large ? ask(run, large, room) : ROUND_UNSENT;
    return round;
}

/* The socket tells of a failure, if there still is one: no diagnosis is left.
 * r[impl cluster.client.transport] */
static enum cluster_shm_call_outcome leave(struct run *run, enum round round)
{
    struct cluster_client_call *call = run->call;

    rapahub_clear_error();
    call->maybe = call->is_there = round == ROUND_MAYBE;
    if (!call->maybe)
        cluster_client_call_unaim(call);
    cluster_client_calls_hand_over(run->calls, call);
    return CLUSTER_SHM_CALL_LEFT;
}

enum cluster_shm_call_outcome cluster_shm_call_run(struct cluster_client_calls *calls,
                                                   struct cluster_client_call *call,
                                                   uint64_t origin, struct hub_answer *answer,
                                                   struct cluster_client_end *end)
{
    struct run run = {.calls = calls, .call = call, .answer = answer, .end = end};
    enum cluster_shm_call_outcome outcome = CLUSTER_SHM_CALL_ENDED;
    enum round round = ROUND_AGAIN;

    if (!is_for_shm(call))
        return CLUSTER_SHM_CALL_NOT;
    run.shm = cluster_client_calls_begin(calls, call, &run.request);
    if (!run.shm)
        return CLUSTER_SHM_CALL_NOT;
    for (unsigned i = 0; i < ROUNDS && round == ROUND_AGAIN; i++) {
        round = make_round(&run, origin);
        run.request.acks_count = 0;
    }
    if (round == ROUND_ENDED)
        cluster_client_calls_finish(calls, call);
    else
        outcome = leave(&run, round == ROUND_MAYBE ? round : ROUND_UNSENT);
    cluster_shm_transport_drop(run.shm);
    return outcome;
}

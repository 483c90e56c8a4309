/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/operations.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/call/direct_serve.h"
#include "hub/link/link_state.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "tests/unit/shm/free_slots.h"

#define SMALL 20 /* bytes: a request that fits a descriptor, and so does its answer */

static void send_a_request(struct stage *stage)
{
    const struct hub_message message = {HUB_REQUEST, 9, 1};
    const struct hub_parts parts = {.head = {stage->payload, stage->size}};

    (void)hub_link_send(stage->guest.connection.link, &message, &parts, 0);
}

/* The first part of a batch, and what shows it. */
static void push_a_request(struct stage *stage)
{
    const struct hub_message message = {HUB_REQUEST, 9, 1};
    const struct hub_parts parts = {.head = {stage->payload, stage->size}, .more = true};

    (void)hub_link_send(stage->guest.connection.link, &message, &parts, 0);
    hub_link_push(stage->guest.connection.link);
}

int operations_take_request(struct stage *stage, struct sweep_point *point)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_request *request;

    request = hub_inbound_calls_next(stage->host.connection.served, NULL, NULL);
    if (request && (request->id != 9 || request->arguments.size != stage->size - 1 ||
                    memcmp(request->arguments.data, stage->payload + 1, stage->size - 1) != 0))
        return sweep_fail(point, "the request is torn");
    if (request)
        (void)hub_inbound_calls_answer(stage->host.connection.served, request, &ok, none);
    return 0;
}

static int look_at_request(struct stage *stage, struct sweep_point *point)
{
    int r = stage_look_at_host(stage, point);

    return r < 0 ? r : operations_take_request(stage, point);
}

/* It arrived once if it was sent, and was sent wholly or not at all. */
static int check_request(struct stage *stage, struct sweep_point *point)
{
    int n = hub_link_sweep(stage->host.connection.link, 8);

    if (n < 0 || stage->arrived + (uint32_t)n > 1 ||
        (point->finished && stage->arrived + (uint32_t)n != 1))
        return sweep_fail(point, "%d requests arrived, and %u before", n, stage->arrived);
    if (operations_take_request(stage, point) < 0)
        return -1;
    return stage_check_recovered(stage, point);
}

/* The guest has made a call, and the host's answer waits in the ring. */
static int setup_response(struct stage *stage)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {stage->payload, STAGE_PAYLOAD}},
                                  .deadline_ns = HUB_NEVER,
                                  .answer = &stage->answer};
    struct hub_request *request;
    int r = stage_setup_pair(stage);

    if (r == 0)
        r = hub_calls_begin(stage->guest.connection.calls, &call, &stage->call);
    if (r < 0 || hub_link_sweep(stage->host.connection.link, 8) != 1)
        return -1;
    request = hub_inbound_calls_next(stage->host.connection.served, NULL, NULL);
    return hub_inbound_calls_answer(stage->host.connection.served, request, &ok,
                                    request->arguments);
}

static void take_a_response(struct stage *stage)
{
    (void)hub_calls_wait(stage->guest.connection.calls, stage->call, false);
}

/* All but what a guest writes when it attaches is done: to open a segment writes nothing. */
static int setup_attach(struct stage *stage)
{
    int r = stage_setup_host(stage);

    if (r == 0)
        r = stage_map_guest(stage);
    if (r == 0)
        stage_let_fork(stage->guest.segment);
    return r;
}

/* The records of classes are private memory: many instructions without an effect for other
 * processes. */
static void attach(struct stage *stage)
{
    struct side *guest = &stage->guest;
    struct hub_wait wait;

    if (stage->memory == STAGE_POOLS &&
        hub_slots_init_guest(&stage->guest_pool, guest->segment, &guest->view, stage->peer) < 0)
        return;
    hub_wait_init(&wait, &guest->view.entry->guest_wait, &guest->view.entry->host_wait,
                  guest->doorbell, -1);
    if (hub_peer_table_attach(guest->view.entry, &stage->epoch) == 0)
        hub_wait_wake(&wait, HUB_WAIT_RX, NULL);
}

/* Reserved or Attached, nothing between. */
static int check_attached(struct stage *stage, struct sweep_point *point)
{
    uint32_t state = hub_load_relaxed(&stage->host.view.entry->state);

    if (state != HUB_PEER_RESERVED && state != HUB_PEER_ATTACHED)
        return sweep_fail(point, "the entry is in state %u", state);
    if (point->finished && state != HUB_PEER_ATTACHED)
        return sweep_fail(point, "attach finished in state %u", state);
    return stage_check_recovered(stage, point);
}

/* Before it is Attached nothing is sent to it. */
static int look_at_attaching(struct stage *stage, struct sweep_point *point)
{
    uint32_t state = hub_load_relaxed(&stage->host.view.entry->state);

    if (state == HUB_PEER_ATTACHED)
        return stage_look_at_host(stage, point);
    return state == HUB_PEER_RESERVED ? 0 : sweep_fail(point, "the entry is in state %u", state);
}

static void reserve_a_peer(struct stage *stage)
{
    (void)hub_peer_table_reserve(stage->segment, &stage->peer, &stage->epoch);
}

/* A guest that looks for its entry finds it Empty or Reserved. */
static int look_at_reserving(struct stage *stage, struct sweep_point *point)
{
    struct hub_peer_entry *entry = stage->host.view.entry;
    uint32_t state = hub_load_relaxed(&entry->state), epoch = hub_load_relaxed(&entry->epoch);

    if ((state != HUB_PEER_EMPTY && state != HUB_PEER_RESERVED) || epoch > 1)
        return sweep_fail(point, "the entry is in state %u, epoch %u", state, epoch);
    return 0;
}

/* The host died: what it leaves is Empty or Reserved, the epoch raised by at most one, and who
 * recovers the entry gets all of it back. */
static int check_reserved(struct stage *stage, struct sweep_point *point)
{
    struct hub_peer_entry *entry = stage->host.view.entry;
    uint32_t state = hub_load_relaxed(&entry->state), epoch = hub_load_relaxed(&entry->epoch);

    if (look_at_reserving(stage, point) < 0)
        return -1;
    if (point->finished && (state != HUB_PEER_RESERVED || epoch != 1))
        return sweep_fail(point, "reserve finished in state %u, epoch %u", state, epoch);
    if (state == HUB_PEER_RESERVED)
        hub_reclaim_reset(stage->segment, &stage->host_pool, 1);
    hub_reclaim_empty(stage->segment, 1);
    stage->epoch = hub_load_relaxed(&entry->epoch);
    stage->peer = 1;
    if (stage_check_entry(stage, point) < 0)
        return -1;
    return stage_check_next_guest(stage, point);
}

/* The guest holds a slot of the host. */
static int setup_slot(struct stage *stage)
{
    struct hub_descriptor descriptor = {.payload_len = STAGE_PAYLOAD};
    int r = stage_setup_pair(stage);

    if (r == 0)
        r = hub_slot_reader_init(&stage->reader, &stage->guest.segment->geometry,
                                 stage->guest.view.host_pool);
    if (r == 0)
        r = hub_slot_pool_loan(&stage->host_pool.pool, stage->peer, &descriptor.payload_slot,
                               &descriptor.payload_generation);
    if (r == 0)
        hub_slot_pool_sent(&stage->host_pool.pool, descriptor.payload_slot);
    stage->slot = descriptor.payload_slot;
    return r == 0 ? hub_slot_reader_check(&stage->reader, &descriptor) : r;
}

static void free_a_slot(struct stage *stage)
{
    (void)hub_slot_reader_free(&stage->reader, stage->slot);
}

/* The host has the other slots, and this one as soon as its bit is set. */
static int look_at_freeing(struct stage *stage, struct sweep_point *point)
{
    uint32_t left = free_slots_of(&stage->host_pool);

    if (left != STAGE_SLOTS && left != STAGE_SLOTS - 1)
        return sweep_fail(point, "%u slots are free", left);
    return stage_look_at_host(stage, point);
}

/* The host has asked for something small, and waits. */
static int setup_small_request(struct stage *stage)
{
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {stage->payload, SMALL}},
                                  .deadline_ns = HUB_NEVER,
                                  .answer = &stage->answer};
    int r = stage_setup_pair(stage);

    if (r < 0 || hub_link_sweep(stage->guest.connection.link, 8) != 0) /* it knows how they count */
        return -1;
    stage->guest.connection.link->wait.gap = 1; /* each pause is a point */
    return hub_calls_begin(stage->host.connection.calls, &call, &stage->call);
}

/* The host is awake on a CPU that there is not. */
static void serve_directly(struct stage *stage)
{
    struct hub_inbound_calls *served = stage->guest.connection.served;
    struct hub_request *request;

    (void)hub_arm(&stage->guest.view.entry->host_wait, UINT32_C(0xFFFF0000));
    request = hub_direct_serve_next(served);
    if (request)
        (void)hub_direct_serve_bytes(served, request->arguments, false);
}

/* Once, if it came to its end, and wholly. */
static int check_served(struct stage *stage, struct sweep_point *point)
{
    const struct hub_calls *calls = stage->host.connection.calls;
    const uint8_t *data;

    if (hub_link_sweep(stage->host.connection.link, 8) < 0)
        return sweep_fail(point, "the host cannot read what was answered");
    if (hub_calls_answered(calls) > 1 || hub_calls_late(calls) > 0 ||
        (point->finished && hub_calls_answered(calls) != 1))
        return sweep_fail(point, "%u answers", (unsigned)hub_calls_answered(calls));
    data = stage->answer.data;
    if (hub_calls_answered(calls) == 1 &&
        (stage->answer.size != SMALL + 2 || data[0] != 0 || data[1] != 0 || data[2] != SMALL - 1 ||
         memcmp(data + 3, stage->payload + 1, SMALL - 1) != 0))
        return sweep_fail(point, "the answer is torn");
    return stage_check_recovered(stage, point);
}

const struct stage_operation operations_swept[] = {
    {"send a request", stage_setup_pair, send_a_request, look_at_request, check_request,
     STAGE_POOLS},
    {"take a response", setup_response, take_a_response, stage_look_at_host, stage_check_recovered,
     STAGE_POOLS},
    {"attach", setup_attach, attach, look_at_attaching, check_attached, STAGE_POOLS},
    {"reserve a peer", stage_setup_segment, reserve_a_peer, look_at_reserving, check_reserved,
     STAGE_POOLS},
    {"push a request held back", stage_setup_pair, push_a_request, look_at_request, check_request,
     STAGE_POOLS},
    {"serve directly", setup_small_request, serve_directly, stage_look_at_host, check_served,
     STAGE_POOLS},
    {"free a slot", setup_slot, free_a_slot, look_at_freeing, stage_check_recovered, STAGE_POOLS},
};

_Static_assert(sizeof operations_swept / sizeof *operations_swept == OPERATION_OPEN,
               "each operation has a number");

const struct stage_operation *operations_find(enum operation operation)
{
    return operation < OPERATION_OPEN ? &operations_swept[operation]
                                      : &operations_on_channels[operation - OPERATION_OPEN];
}

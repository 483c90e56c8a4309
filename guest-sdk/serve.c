/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/serve.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "guest-sdk/answer.h"
#include "guest-sdk/arrived.h"
#include "guest-sdk/delivery.h"
#include "guest-sdk/frame.h"
#include "guest-sdk/lifecycle.h"
#include "guest-sdk/ops.h"
#include "hub/base/clock.h"
#include "hub/call/direct_serve.h"
#include "hub/shm/lease.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define READY_PATIENCE (10 * HUB_SECOND)
#define LEAVE_PATIENCE HUB_SECOND

/* ---- a request ---- */

static struct hub_invoke *find_method(const struct guest *guest, const struct hub_request *request)
{
    return guest->loaded ? guest_methods_find(&guest->module.methods, request->method_id) : NULL;
}

int guest_serve_streams(void *user, struct hub_request *request,
                        struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    const struct guest *guest = user;
    struct hub_invoke *invoke = find_method(guest, request);

    request->method = invoke;
    request->plain = invoke && !hub_invoke_has_streams(invoke);
    if (request->plain)
        return 0;
    if (!invoke && guest_lifecycle_serves(hub_lifecycle_of_id(request->method_id)))
        return 0;
    return hub_inbound_names(invoke ? hub_invoke_signature(invoke)->types + 1 : NULL, request,
                             names);
}

/* A method gets only the channels that its own request named. */
static void *find_stream(void *user, const struct rapahub_type *type, uint64_t id)
{
    const struct hub_request *request = user;

    return hub_channels_find(&request->channels, type->kind == RAPAHUB_KIND_SINK, id);
}

/* Refuses a request whose container takes no calls now. The lease is looked at here and nowhere
 * earlier: between this and the method nothing waits. r[impl hub.lease.call] */
static bool is_refused(const struct guest *guest, const struct guest_container *container,
                       struct hub_response *response)
{
    if (!container || container->gate == GUEST_CONTAINER_CLOSED) {
        response->kind = HUB_RESPONSE_UNKNOWN_METHOD;
        return true;
    }
    if (container->gate != GUEST_CONTAINER_LEASED ||
        !hub_lease_is_over(&guest->attach.view.header->lease))
        return false;
    *response = (struct hub_response){.kind = HUB_RESPONSE_CANCELLED, .fault = HUB_FAULT_LEASE};
    return true;
}

/* r[impl call.error.unknown-method] r[impl call.error.invalid-payload] */
static void run_method(struct guest *guest, struct hub_invoke *invoke, struct guest_answer *answer)
{
    const struct hub_signature *signature = hub_invoke_signature(invoke);
    struct guest_frame *frame = guest->frame;
    const struct hub_invoke_streams streams = {find_stream, frame->request};
    struct hub_invoke_target to = {.streams = &streams};
    struct hub_outcome outcome;
    struct hub_reader reader;
    int r;

    frame->container =
        guest_containers_find(&guest->containers, frame->request->metadata.container);
    if (is_refused(guest, frame->container, &answer->response))
        return;
    frame->method = signature->name;
    frame->lends = signature->types[0]->kind == RAPAHUB_KIND_BYTES;
    frame->container->open++;
    hub_reader_init(&reader, frame->request->arguments.data, frame->request->arguments.size);
    rapahub_clear_error();
    to.self = frame->container->self;
    r = hub_invoke_call(invoke, &to, &reader, &outcome);
    frame->container->open--;
    if (r == RAPAHUB_EARGUMENTS)
        answer->response.kind = HUB_RESPONSE_INVALID_PAYLOAD;
    else if (r == -EMSGSIZE)
        answer->response =
            (struct hub_response){.kind = HUB_RESPONSE_CANCELLED, .fault = HUB_FAULT_SIZE};
    else if (r < 0)
        guest_answer_failure(guest, r, answer);
    else
        guest_answer_outcome(guest, invoke, &outcome, answer);
}

static void run_lifecycle(struct guest *guest, enum hub_lifecycle_method method,
                          struct guest_answer *answer)
{
    struct guest_frame *frame = guest->frame;
    struct hub_writer writer;
    struct hub_reader reader;
    int r;

    frame->method = hub_lifecycle_table[method].name;
    hub_reader_init(&reader, frame->request->arguments.data, frame->request->arguments.size);
    guest_answer_start(guest, &writer);
    rapahub_clear_error();
    r = guest_lifecycle_run(guest, method, &reader, &writer);
    if (reader.failure < 0)
        answer->response.kind = HUB_RESPONSE_INVALID_PAYLOAD;
    else if (r != 0)
        guest_answer_failure(guest, r, answer);
    else
        guest_answer_result(guest, &writer, answer);
}

/* The host's own messages have no chain; a request that it forwards from another guest always has
 * one. r[impl sec.call.own] */
static bool is_of_host(const struct hub_request *request, enum hub_lifecycle_method method)
{
    return guest_lifecycle_serves(method) && request->metadata.chain == 0;
}

/* The module's methods are looked for first, because none of them has a lifecycle method's name. A
 * request that was received before the module was loaded has no method yet, so it is looked for
 * here. */
static void run_any(struct guest *guest, struct guest_answer *answer)
{
    const struct hub_request *request = guest->frame->request;
    struct hub_invoke *invoke = request->method ? request->method : find_method(guest, request);
    enum hub_lifecycle_method lifecycle;

    if (invoke) {
        run_method(guest, invoke, answer);
        return;
    }
    lifecycle = hub_lifecycle_of_id(request->method_id);
    if (guest->loaded && is_of_host(request, lifecycle))
        run_lifecycle(guest, lifecycle, answer);
    else
        answer->response.kind = HUB_RESPONSE_UNKNOWN_METHOD;
}

static bool waits(const struct guest *guest)
{
    const struct hub_inbound_calls *served = guest->attach.connection.served;

    return hub_direct_serve_waits(served) || hub_inbound_calls_waits(served);
}

bool guest_serve_begin_hold(struct guest *guest, const struct hub_request *request)
{
    const struct hub_connection *connection = &guest->attach.connection;

    if (guest->frame || (guest->hold.held == 0 && !waits(guest)))
        return false;
    if (guest_response_batch_begin(&guest->hold, request->method_id))
        hub_link_push(connection->link);
    return true;
}

bool guest_serve_end_hold(struct guest *guest, const struct hub_request *request)
{
    return guest_response_batch_end(&guest->hold, request->method_id, waits(guest));
}

/* r[impl call.lifecycle.single-response] */
__attribute__((noinline)) void guest_serve_request(struct guest *guest, struct hub_request *request)
{
    struct guest_frame frame;
    struct guest_answer answer;
    bool in_line = guest_serve_begin_hold(guest, request);

    guest_answer_init(&answer);
    guest_frame_enter(guest, &frame, request);
    run_any(guest, &answer);
    (void)hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_EXCUSED);
    answer.body.more = in_line && guest_serve_end_hold(guest, request);
    (void)hub_inbound_calls_answer_parts(guest->attach.connection.served, request, &answer.response,
                                         &answer.body);
    guest_frame_leave(guest, &frame);
}

static __attribute__((noinline)) void answer_failure(struct guest *guest, int status,
                                                     struct guest_answer *answer)
{
    guest_answer_failure(guest, status, answer);
}

/* All functions called here are inlined unless they are marked otherwise, as in host_cached_call:
 * most results that come here are in a slot. */
__attribute__((noinline, flatten)) bool guest_serve_answer_bytes(struct guest *guest, int status,
                                                                 struct rapahub_bytes result)
{
    struct guest_answer answer;

    guest_answer_init(&answer);
    if (status != 0)
        answer_failure(guest, status, &answer);
    else
        guest_answer_bytes(guest->frame, &result, &answer);
    return hub_direct_serve_answer(guest->attach.connection.served, &answer.response,
                                   &answer.body) > 0;
}

bool guest_serve_one(struct guest *guest,
                     bool (*may)(void *user, const struct hub_request *request))
{
    struct hub_request *request =
        hub_inbound_calls_next(guest->attach.connection.served, may, guest);

    if (request)
        guest_serve_request(guest, request);
    return request != NULL;
}

/* ---- all requests ---- */

/* The push is needed even if nothing ran: a request for which a response was held back may have
 * been cancelled meanwhile. */
bool guest_serve_queued(struct guest *guest)
{
    bool served = false;

    guest_arrived_clear(&guest->arrived);
    while (hub_link_ours(guest->attach.connection.link) && guest_serve_one(guest, NULL))
        served = true;
    hub_link_push(guest->attach.connection.link);
    if (hub_load_relaxed(&guest->roles.due) != 0 && !guest_serve_over(guest))
        served |= guest_delivery_run(guest);
    return served;
}

bool guest_serve_deserted(const struct guest *guest)
{
    const struct hub_link *link = guest->attach.connection.link;

    return hub_link_closed(link) || hub_link_host_left(link) || hub_observe(&guest->goodbye) != 0;
}

bool guest_serve_over(const struct guest *guest)
{
    return guest_serve_deserted(guest) || hub_observe(&guest->leave) != 0;
}

/* Says whether nothing can be received or sent any more: the link is closed, or the entry is not
 * this guest's. */
static bool is_lost(const struct hub_link *link)
{
    return hub_link_closed(link) || !hub_link_ours(link);
}

/* Receives and answers what the host has sent. True if the link is lost, or if both rings are
 * empty. */
static bool settle(struct guest *guest)
{
    struct hub_link *link = guest->attach.connection.link;

    (void)hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_WORKS);
    (void)hub_link_sweep(link, UINT32_MAX);
    (void)guest_serve_queued(guest);
    return is_lost(link) || hub_link_quiet(link);
}

/* Settles until both rings are empty, the link is lost, or the time is over. The doorbell also
 * tells that the host is dead. */
static void settle_all(struct guest *guest)
{
    uint64_t deadline = hub_clock_after(LEAVE_PATIENCE);

    while (!settle(guest) && hub_clock_left(deadline) != 0) {
        struct pollfd bell = {.fd = guest->attach.ticket.doorbell, .events = POLLIN};

        if (poll(&bell, 1, 1) > 0 && !hub_link_hear(guest->attach.connection.link))
            break;
    }
}

/* Answers all requests that came before the guest began to leave. A host that sends without end is
 * not waited for. */
static void drain(struct guest *guest)
{
    struct hub_link *link = guest->attach.connection.link;
    uint64_t deadline = hub_clock_after(LEAVE_PATIENCE);

    do
        (void)settle(guest);
    while (!is_lost(link) && hub_link_has_news(link) && hub_clock_left(deadline) != 0);
}

/* Sends all answers first, then the goodbye with the reason, because a host expects no answer after
 * a goodbye. The state is set last, because a host may take it for the end and reuse the entry:
 * after it nothing is read or written. r[impl shm.guest.detach] r[impl shm.goodbye.guest] */
void guest_serve_leave(struct guest *guest)
{
    struct hub_link *link = guest->attach.connection.link;

    if (!hub_link_closed(link)) {
        drain(guest);
        if (hub_observe(&guest->leave) != 0)
            hub_link_say_goodbye(link, "", guest->reason ? guest->reason : "");
        settle_all(guest);
        hub_link_rest(link);
    }
    if (!hub_link_closed(link) || hub_link_cause(link) == RAPAHUB_EPROTOCOL)
        hub_link_leave(link); /* a host that broke a rule lives, and must not wait for this guest */
}

/* ---- the first call ---- */

static int await_ready(struct guest *guest, const struct hub_call *call)
{
    struct hub_response response;
    struct hub_reader reader;
    uint64_t number;
    int r = hub_calls_begin(guest->attach.connection.calls, call, &number);

    if (r == 0)
        r = hub_calls_wait(guest->attach.connection.calls, number, false);
    if (r < 0)
        return r;
    hub_reader_init(&reader, call->answer->data, call->answer->size);
    r = hub_response_decode(&reader, &response);
    if (r == 0 && response.kind != HUB_RESPONSE_OK)
        r = hub_response_code(&response, "rapahub.ready");
    return r;
}

int guest_serve_announce(struct guest *guest)
{
    const struct rapahub_chimod *chimod = guest->module.chimod;
    const struct hub_ready ready = {.abi = RAPAHUB_CHIMOD_ABI,
                                    .name = rapahub_string_of(chimod->name),
                                    .version = rapahub_string_of(chimod->version),
                                    .state_size = chimod->state_size,
                                    .state_version = chimod->state_version,
                                    .callbacks = guest_ops_mask(chimod),
                                    .methods = guest->module.methods.count};
    struct hub_answer answer = {0};
    struct hub_call call = {.method_id = hub_lifecycle_id(HUB_LIFECYCLE_READY),
                            .deadline_ns = hub_clock_after(READY_PATIENCE),
                            .answer = &answer};
    struct hub_writer writer;
    int r;

    hub_writer_init(&writer, guest->scratch,
                    hub_link_limits(guest->attach.connection.link)->payload_max);
    hub_writer_byte(&writer, 0); /* no metadata */
    hub_payload_put(&writer, &rapahub_type_hub_ready, &ready);
    call.payload.head = (struct rapahub_bytes){guest->scratch, writer.size};
    if (writer.failure < 0)
        return rapahub_fail(RAPAHUB_EABI, "", "%s: its .version is no UTF-8 text of fitting length",
                            guest->module.name);
    r = await_ready(guest, &call);
    hub_responses_fini(&answer);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* floor: a stage whose members of the floor of calls are all open, and a guest at the other end of
 * its link that a test has do what it wants. A service of two methods can be added. Everything is
 * in the calling thread. */
#ifndef TESTS_UNIT_HOST_CALL_FLOOR_H
#define TESTS_UNIT_HOST_CALL_FLOOR_H

#include <stdlib.h>

#include "host/call/async_pieces.h"
#include "host/call/caller.h"
#include "host/call/router.h"
#include "host/call/service.h"
#include "hub/call/call_ends.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "tests/unit/host-call/stage.h"

#define FLOOR_UNUSED __attribute__((unused))

static const struct rapahub_container_id floor_service = {{8, 8}, 8};

/* ---- the host ---- */

FLOOR_UNUSED static struct stage *floor_open(void)
{
    struct stage *stage = stage_open();
    struct host_process *process = &stage->host.process;

    assert_int_equal(host_caller_open(&process->owner.registry.callers), 0);
    assert_int_equal(host_loop_init(&process->owner.loop, 4), 0);
    host_events_init(&process->owner.events);
    host_loans_open(&stage->host.loans);
    assert_int_equal(host_asyncs_open(&stage->host.asyncs), 0);
    hub_list_init(&stage->host.relays);
    stage->host.chains = host_chains_first();
    host_chains_open(&stage->host.names);
    host_router_init(&stage->host.router);
    process->options.limits = pair_limits();
    process->options.call_timeout_ns = SOON;
    stage->life.host = process;
    stage->life.loop = &process->owner.loop;
    stage->life.guest = &stage->guest;
    stage->life.connection = stage->pair.host.connection;
    memcpy(stage->life.name, "kv", sizeof "kv");
    hub_list_init(&stage->life.chains.begun);
    hub_list_init(&stage->life.chains.seats);
    return stage;
}

FLOOR_UNUSED static void floor_close(struct stage *stage)
{
    struct host_owner *owner = &stage->host.process.owner;
    struct host_container *service =
        host_containers_find(&owner->registry.containers, floor_service);

    host_async_pieces_settle(&stage->host);
    host_loans_close(&stage->host.loans);
    host_caller_hide_all(&owner->registry.callers);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    assert_int_equal(host_containers_users(stage->container), 0);
    if (service) {
        assert_int_equal(host_containers_users(service), 0);
        host_service_release(&service->offer);
    }
    host_asyncs_close(&stage->host.asyncs);
    hub_mutex_fini(&stage->host.loans.lock);
    host_events_fini(&owner->events);
    host_loop_fini(&owner->loop);
    host_caller_close(&owner->registry.callers);
    stage_close(stage);
}

FLOOR_UNUSED static void floor_methods(struct stage *stage, const char *lines)
{
    assert_int_equal(host_methods_add_lines(stage->guest.methods, rapahub_string_of(lines)), 0);
}

FLOOR_UNUSED static struct host_container *floor_offer(struct stage *stage,
                                                       const struct rapahub_method *methods,
                                                       void *self)
{
    const struct rapahub_container_options options = {.id = floor_service, .pool_name = "pool"};
    struct host_container *container;

    assert_int_equal(
        host_containers_add(&HOST_REGISTRY(&stage->host)->containers, &options, &container), 0);
    assert_int_equal(host_service_create(methods, self, &container->offer), 0);
    container->state = HOST_CONTAINER_READY;
    return container;
}

/* Says whether the loop was woken since the last time. */
FLOOR_UNUSED static bool floor_is_woken(struct stage *stage)
{
    struct host_loop *loop = &stage->host.process.owner.loop;
    bool woken = hub_observe(&loop->woken) != 0;

    assert_int_equal(host_loop_turn(loop, 0), 0);
    return woken;
}

/* Receives what the guest has sent, and tells the ends of calls. */
FLOOR_UNUSED static void floor_receive(struct stage *stage)
{
    assert_true(hub_link_sweep(stage->life.connection.link, UINT32_MAX) >= 0);
    (void)hub_call_ends_deliver(stage->life.connection.calls);
}

/* ---- its guest ---- */

/* The next request that the host has sent; NULL: none. */
FLOOR_UNUSED static struct hub_request *floor_next(struct stage *stage)
{
    struct hub_connection *guest = &stage->pair.guest.connection;

    assert_true(hub_link_sweep(guest->link, UINT32_MAX) >= 0);
    return hub_inbound_calls_next(guest->served, NULL, NULL);
}

FLOOR_UNUSED static void floor_answer(struct stage *stage, struct hub_request *request,
                                      const char *body, size_t size)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};

    assert_int_equal(hub_inbound_calls_answer(stage->pair.guest.connection.served, request, &ok,
                                              (struct rapahub_bytes){body, size}),
                     0);
}

/* A request of the guest to the host, and its answer. */
struct floor_request {
    struct stage *stage;
    struct hub_answer answer;
    uint64_t number;
};

/* Sends it; the host has received it then. `target` is what the guest writes as its target. */
FLOOR_UNUSED static void floor_ask_at(struct stage *stage, uint64_t method_id,
                                      struct rapahub_bytes target, const char *arguments,
                                      struct floor_request *out)
{
    uint8_t head[128];
    const struct hub_metadata metadata = {.target = target};
    struct hub_writer writer;
    struct hub_call call = {.method_id = method_id, .deadline_ns = hub_clock_after(SOON)};

    *out = (struct floor_request){.stage = stage};
    hub_writer_init(&writer, head, sizeof head);
    assert_int_equal(hub_metadata_write(&writer, &metadata), 0);
    call.payload.head = (struct rapahub_bytes){head, writer.size};
    call.payload.tail = (struct rapahub_bytes){arguments, strlen(arguments)};
    call.answer = &out->answer;
    assert_int_equal(hub_calls_begin(stage->pair.guest.connection.calls, &call, &out->number), 0);
    assert_true(hub_link_sweep(stage->life.connection.link, UINT32_MAX) >= 0);
}

/* The same for a container. NULL: it is to the host itself. */
FLOOR_UNUSED static void floor_ask(struct stage *stage, uint64_t method_id,
                                   const struct rapahub_container_id *target, const char *arguments,
                                   struct floor_request *out)
{
    uint8_t id[HUB_LIFECYCLE_TARGET_MAX];
    const struct rapahub_bytes bytes = {id, target ? hub_lifecycle_put_target(*target, id) : 0};

    floor_ask_at(stage, method_id, bytes, arguments, out);
}

FLOOR_UNUSED static bool floor_is_answered(const struct floor_request *request)
{
    struct hub_connection *guest = &request->stage->pair.guest.connection;

    (void)hub_link_sweep(guest->link, UINT32_MAX);
    return hub_calls_ended(guest->calls, request->number);
}

/* The head of its answer, and with `body` what follows. The answer has come. */
FLOOR_UNUSED static struct hub_response floor_response(struct floor_request *request, char *body)
{
    struct hub_response response;
    struct hub_reader reader;

    assert_true(floor_is_answered(request));
    assert_int_equal(
        hub_calls_wait(request->stage->pair.guest.connection.calls, request->number, false), 0);
    hub_reader_init(&reader, request->answer.data, request->answer.size);
    assert_int_equal(hub_response_decode(&reader, &response), 0);
    if (body) {
        memcpy(body, reader.at, hub_reader_left(&reader));
        body[hub_reader_left(&reader)] = '\0';
    }
    response.text = (struct rapahub_string){NULL, 0};
    hub_responses_fini(&request->answer);
    return response;
}

#endif

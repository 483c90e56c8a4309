/* SPDX-License-Identifier: Apache-2.0 */
/* The guest asks the host, a service, and itself as another guest would be asked. */
#include <errno.h>

#include <rapahub/error.h>
#include <rapahub/method.h>

#include "host/call/upcalls.h"
#include "tests/unit/host-call/desk.h"

#define GUESTS_METHOD "sum(u32) -> u32\n"

/* What the floor of lives and the service have seen. */
static unsigned readies, run_count;
static uint64_t chain_value;
static struct stage *present;

static void on_ready(struct host_call *host, struct host_life *life, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};

    (void)host;
    readies++;
    assert_int_equal(hub_inbound_calls_answer(life->connection.served, request, &ok,
                                              (struct rapahub_bytes){NULL, 0}),
                     0);
}

static int add(void *self, uint32_t a, uint32_t b, uint32_t *result)
{
    (void)self;
    run_count++;
    assert_ptr_equal(present->host.chain.life, &present->life);
    assert_int_equal(hub_observe(&present->life.users), 1);
    chain_value = present->host.chain.value;
    *result = a + b;
    return 0;
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD(add, add, u32, u32, u32),
                                                RAPAHUB_METHOD_END};

static struct stage *open_upcalls(void)
{
    static const struct host_call_hooks hooks = {
        .look = stage_look, .call = stage_call, .ready = on_ready};
    struct stage *stage = floor_open();

    present = stage;
    readies = run_count = 0;
    stage->host.hooks = &hooks;
    floor_methods(stage, GUESTS_METHOD);
    floor_offer(stage, methods, NULL);
    return stage;
}

static uint64_t id_of(struct stage *stage, const char *name)
{
    const struct hub_signature *own = host_methods_of_name(stage->guest.methods, name);
    struct host_container *service =
        host_containers_find(&HOST_REGISTRY(&stage->host)->containers, floor_service);

    return own ? own->id : host_methods_of_name(service->offer->methods, name)->id;
}

static uint32_t serve(struct stage *stage)
{
    return host_upcalls_serve(&stage->host, &stage->life, HOST_UPCALLS_BATCH);
}

static void a_service_answers_a_guest_in_the_chain_of_its_request(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request request;
    char body[64];

    (void)state;
    stage->host.chain.value = 77;
    floor_ask(stage, id_of(stage, "add"), &floor_service, "\2\3", &request);
    assert_int_equal(serve(stage), 1);
    assert_int_equal(floor_response(&request, body).kind, HUB_RESPONSE_OK);
    assert_string_equal(body, "\5");
    assert_int_equal(run_count, 1);
    assert_true(chain_value == 0);              /* that of the request, which is in none */
    assert_true(stage->host.chain.value == 77); /* and the outer one again */
    floor_close(stage);
}

/* r[verify sec.call.own] r[verify hub.violation] */
static void a_message_that_only_the_host_may_send_ends_the_link(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request request;

    (void)state;
    floor_ask(stage, hub_lifecycle_id(HUB_LIFECYCLE_FINI), &stage_here, "", &request);
    assert_int_equal(serve(stage), 1);
    assert_true(hub_link_closed(stage->life.connection.link));
    assert_string_equal(hub_link_rule(stage->life.connection.link), "sec.call.own");
    hub_responses_fini(&request.answer);
    floor_close(stage);
}

static void ready_is_for_the_floor_that_starts_guests(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request request;

    (void)state;
    floor_ask(stage, hub_lifecycle_id(HUB_LIFECYCLE_READY), NULL, "", &request);
    assert_int_equal(serve(stage), 1);
    assert_int_equal(readies, 1);
    assert_int_equal(floor_response(&request, NULL).kind, HUB_RESPONSE_OK);
    floor_close(stage);
}

/* r[verify call.error.unknown-method] */
static void a_method_that_nobody_has_is_refused_and_counted(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request requests[3];

    (void)state;
    floor_ask(stage, 99, NULL, "", &requests[0]);
    floor_ask(stage, 99, &floor_service, "", &requests[1]);
    floor_ask(stage, 99, &stage_here, "", &requests[2]);
    assert_int_equal(serve(stage), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(floor_response(&requests[i], NULL).kind, HUB_RESPONSE_UNKNOWN_METHOD);
    assert_true(hub_load_relaxed64(&stage->life.connection.unknown) == 3);
    assert_null(floor_next(stage)); /* nothing was sent on */
    floor_close(stage);
}

static void a_container_that_does_not_exist_is_an_error_of_the_host(void **state)
{
    const struct rapahub_container_id nowhere = {{9, 9}, 9};
    struct stage *stage = open_upcalls();
    struct hub_response response;
    struct floor_request request;

    (void)state;
    floor_ask(stage, id_of(stage, "add"), &nowhere, "\2\3", &request);
    assert_int_equal(serve(stage), 1);
    response = floor_response(&request, NULL);
    assert_int_equal(response.kind, HUB_RESPONSE_USER);
    assert_int_equal(response.code, RAPAHUB_ENOENT);
    assert_int_equal(response.fault, HUB_FAULT_ROUTE);
    floor_close(stage);
}

static void other_guests_come_between_the_requests_of_one(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request requests[2];

    (void)state;
    floor_ask(stage, id_of(stage, "add"), &floor_service, "\2\3", &requests[0]);
    floor_ask(stage, id_of(stage, "add"), &floor_service, "\2\4", &requests[1]);
    (void)floor_is_woken(stage);
    assert_int_equal(host_upcalls_serve(&stage->host, &stage->life, 1), 1);
    assert_true(floor_is_answered(&requests[0]));
    assert_false(floor_is_answered(&requests[1]));
    assert_true((hub_observe(&stage->life.work) & HOST_WORK_REQUEST) != 0);
    assert_true(floor_is_woken(stage));
    hub_publish(&stage->life.work, 0);
    assert_int_equal(serve(stage), 1);
    assert_true(hub_observe(&stage->life.work) == 0);
    assert_false(floor_is_woken(stage));
    (void)floor_response(&requests[0], NULL);
    (void)floor_response(&requests[1], NULL);
    floor_close(stage);
}

/* Sends a request of the guest on to its own container. */
static struct hub_request *send_on(struct stage *stage, struct floor_request *request)
{
    struct hub_request *sent;

    floor_ask(stage, id_of(stage, "sum"), &stage_here, "\7", request);
    assert_int_equal(serve(stage), 1);
    assert_int_equal(stage->life.relayed, 1);
    sent = floor_next(stage);
    assert_non_null(sent);
    return sent;
}

static void a_request_to_another_guest_passes_and_its_answer_comes_back(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request request;
    struct hub_request *sent = send_on(stage, &request);
    char body[64];

    (void)state;
    assert_true(sent->method_id == id_of(stage, "sum"));
    assert_int_equal(sent->arguments.size, 1);
    assert_memory_equal(sent->arguments.data, "\7", 1);
    assert_int_equal(hub_observe(&stage->life.foreign), 1);
    assert_false(floor_is_answered(&request));
    floor_answer(stage, sent, "\x11", 1);
    floor_receive(stage);
    assert_int_equal(floor_response(&request, body).kind, HUB_RESPONSE_OK);
    assert_string_equal(body, "\x11");
    assert_int_equal(stage->life.relayed, 0);
    assert_int_equal(hub_observe(&stage->life.foreign), 0);
    floor_close(stage);
}

/* r[verify sec.call.share] */
static void a_guest_that_has_its_share_under_way_is_told_to_try_later(void **state)
{
    struct stage *stage = open_upcalls();
    uint32_t share = host_async_table_share(HOST_REGISTRY(&stage->host)->guests_max);
    struct hub_response response;
    struct floor_request request;

    (void)state;
    stage->life.relayed = share;
    floor_ask(stage, id_of(stage, "sum"), &stage_here, "\7", &request);
    assert_int_equal(serve(stage), 1);
    response = floor_response(&request, NULL);
    assert_int_equal(response.kind, HUB_RESPONSE_CANCELLED);
    assert_int_equal(response.fault, HUB_FAULT_BUSY);
    assert_true(hub_load_relaxed64(&stage->life.connection.refused) == 1);
    assert_int_equal(stage->life.relayed, share);
    assert_null(floor_next(stage));
    floor_close(stage);
}

/* The memory of its request is gone. */
static void a_late_answer_for_a_guest_that_has_ended_is_dropped(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request request;
    struct hub_request *sent = send_on(stage, &request);

    (void)state;
    host_upcalls_forget(&stage->host, &stage->life);
    assert_int_equal(floor_response(&request, NULL).kind, HUB_RESPONSE_CANCELLED);
    assert_true(hub_link_sweep(stage->pair.guest.connection.link, UINT32_MAX) >= 0);
    assert_true(hub_request_is_cancelled(sent));
    floor_answer(stage, sent, "\x11", 1);
    floor_receive(stage);
    assert_true(hub_list_empty(&stage->host.relays));
    floor_close(stage);
}

static void a_request_whose_guest_gave_up_is_cancelled_where_it_went(void **state)
{
    struct stage *stage = open_upcalls();
    struct floor_request request;
    struct hub_request *sent = send_on(stage, &request);

    (void)state;
    host_upcalls_look(&stage->host);
    assert_true(hub_link_sweep(stage->pair.guest.connection.link, UINT32_MAX) >= 0);
    assert_false(hub_request_is_cancelled(sent));
    hub_calls_cancel(stage->pair.guest.connection.calls, request.number);
    assert_true(hub_link_sweep(stage->life.connection.link, UINT32_MAX) >= 0);
    host_upcalls_look(&stage->host);
    assert_true(hub_link_sweep(stage->pair.guest.connection.link, UINT32_MAX) >= 0);
    assert_true(hub_request_is_cancelled(sent));
    floor_answer(stage, sent, "\x11", 1);
    floor_receive(stage);
    (void)floor_response(&request, NULL);
    floor_close(stage);
}

/* r[verify hub.route.from] r[verify hub.route.away] */
static void a_request_to_a_container_elsewhere_goes_to_the_router(void **state)
{
    struct stage *stage = desk_open();
    struct floor_request request;
    char body[64];

    (void)state;
    stage->life.id = (struct rapahub_guest_id){5, 6, 7};
    floor_ask(stage, 99, &desk_elsewhere, "ab", &request);
    assert_int_equal(serve(stage), 1);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_int_equal(desk.begun, 1);
    assert_true(desk.last.method_id == 99 && desk.last.from.group == 5 && desk.last.from.peer == 7);
    assert_memory_equal(&desk.last.from_pool, &stage_here.pool, sizeof stage_here.pool);
    assert_true(desk.last.chain != 0 && desk.last.uid.origin == 0);
    assert_false(floor_is_answered(&request));
    assert_int_equal(desk_answer(desk.numbers[0], 0, "xyz", 3), 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(floor_response(&request, body).kind, HUB_RESPONSE_OK);
    assert_string_equal(body, "xyz");
    desk_close();
}

static void ask_by(struct stage *stage, const struct rapahub_query *query,
                   struct floor_request *request)
{
    uint8_t text[HUB_LIFECYCLE_QUERY_MAX];
    const struct rapahub_bytes target = {
        text, hub_lifecycle_put_query(stage_here, query, text)}; /* a container that is here */

    floor_ask_at(stage, 99, target, "ab", request);
    assert_int_equal(serve(stage), 1);
}

/* r[verify hub.call.query] r[verify hub.route.away] */
static void a_request_with_a_query_goes_to_the_router(void **state)
{
    const struct rapahub_query query = {
        .mode = RAPAHUB_QUERY_RANGE, .offset = 3, .count = 2, .order = 9, .collect = true};
    struct stage *stage = desk_open();
    struct floor_request request;
    char body[64];

    (void)state;
    ask_by(stage, &query, &request);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_int_equal(desk.begun, 1);
    assert_non_null(desk.last.query);
    assert_int_equal(desk.query.mode, RAPAHUB_QUERY_RANGE);
    assert_int_equal(desk.query.offset, 3);
    assert_int_equal(desk.query.count, 2);
    assert_int_equal(desk.query.order, 9);
    assert_true(desk.query.collect && !desk.query.each);
    assert_int_equal(desk_answer(desk.numbers[0], 0, "xyz", 3), 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(floor_response(&request, body).kind, HUB_RESPONSE_OK);
    assert_string_equal(body, "xyz");
    desk_close();
}

/* r[verify hub.call.query] */
static void a_query_needs_a_router_and_a_mode(void **state)
{
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_HASH, .number = UINT64_MAX};
    struct stage *stage = open_upcalls();
    struct floor_request request;
    struct hub_response response;

    (void)state;
    ask_by(stage, &query, &request);
    response = floor_response(&request, NULL);
    assert_int_equal(response.kind, HUB_RESPONSE_USER);
    assert_int_equal(response.code, RAPAHUB_ENOTSUP);
    floor_close(stage);
    stage = desk_open();
    query.mode = (enum rapahub_query_mode)(RAPAHUB_QUERY_DYNAMIC + 1);
    ask_by(stage, &query, &request);
    response = floor_response(&request, NULL);
    assert_int_equal(response.code, RAPAHUB_EARGUMENTS);
    assert_int_equal(desk.begun, 0);
    desk_close();
}

/* A guest that may call one container only has no query. r[verify hub.admit.only] */
static void an_admitted_guest_has_no_query(void **state)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_BROADCAST};
    struct stage *stage = desk_open();
    struct floor_request request;

    (void)state;
    stage->life.only.set = true;
    stage->life.only.target = stage_here;
    ask_by(stage, &query, &request);
    assert_int_equal(floor_response(&request, NULL).code, RAPAHUB_EACCES);
    assert_int_equal(desk.begun, 0);
    stage->life.only.set = false;
    desk_close();
}

/* The container of a request that waits is taken away: whose request it is stays known.
 * r[verify hub.route.from] */
static void a_request_that_turns_out_late_to_be_for_the_router_says_who_calls(void **state)
{
    struct stage *stage = desk_open();
    struct floor_request request;

    (void)state;
    floor_methods(stage, GUESTS_METHOD);
    stage->life.id = (struct rapahub_guest_id){5, 6, 7};
    stage->look = -EAGAIN;
    stage->guest.state = HOST_GUEST_STARTING;
    floor_ask(stage, host_methods_of_name(stage->guest.methods, "sum")->id, &stage_here, "\7",
              &request);
    assert_int_equal(serve(stage), 1);
    assert_int_equal(host_asyncs_serve(&stage->host), 0);
    stage->container->routed = true;
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_int_equal(desk.begun, 1);
    assert_true(desk.last.from.group == 5 && desk.last.from.epoch == 6 && desk.last.from.peer == 7);
    assert_memory_equal(&desk.last.from_pool, &stage_here.pool, sizeof stage_here.pool);
    assert_int_equal(desk_answer(desk.numbers[0], 0, "", 0), 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(floor_response(&request, NULL).kind, HUB_RESPONSE_OK);
    stage->container->routed = false;
    desk_close();
}

/* r[verify sec.call.share] r[verify hub.route.bound] */
static void a_guest_has_only_its_share_of_the_router(void **state)
{
    struct stage *stage = desk_open();
    struct floor_request request;
    struct hub_response response;

    (void)state;
    stage->life.relayed = host_async_table_share(1);
    floor_ask(stage, 99, &desk_elsewhere, "ab", &request);
    assert_int_equal(serve(stage), 1);
    response = floor_response(&request, NULL);
    assert_true(response.kind == HUB_RESPONSE_CANCELLED && response.fault == HUB_FAULT_BUSY);
    assert_int_equal(host_asyncs_serve(&stage->host), 0);
    assert_int_equal(desk.begun, 0);
    stage->life.relayed = 0;
    desk_close();
}

static void the_calls_of_a_guest_that_ends_are_taken_from_the_router(void **state)
{
    struct stage *stage = desk_open();
    struct floor_request request;

    (void)state;
    floor_ask(stage, 99, &desk_elsewhere, "ab", &request);
    assert_int_equal(serve(stage), 1);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    host_upcalls_forget(&stage->host, &stage->life);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk.cancelled == 1 && desk.cancels[0] == desk.numbers[0]);
    assert_int_equal(floor_response(&request, NULL).kind, HUB_RESPONSE_CANCELLED);
    desk_close();
}

/* The guest learns that it was cancelled, and not that a host failed. */
static void a_request_that_a_router_cancels_is_answered_so(void **state)
{
    struct stage *stage = desk_open();
    struct floor_request request;
    struct hub_response response;

    (void)state;
    floor_ask(stage, 99, &desk_elsewhere, "ab", &request);
    assert_int_equal(serve(stage), 1);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_int_equal(desk_answer(desk.numbers[0], RAPAHUB_ECANCELED, "", 0), 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    response = floor_response(&request, NULL);
    assert_int_equal(response.kind, HUB_RESPONSE_CANCELLED);
    assert_int_equal(response.fault, HUB_FAULT_NONE);
    desk_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_answers_a_guest_in_the_chain_of_its_request),
        cmocka_unit_test(a_message_that_only_the_host_may_send_ends_the_link),
        cmocka_unit_test(ready_is_for_the_floor_that_starts_guests),
        cmocka_unit_test(a_method_that_nobody_has_is_refused_and_counted),
        cmocka_unit_test(a_container_that_does_not_exist_is_an_error_of_the_host),
        cmocka_unit_test(other_guests_come_between_the_requests_of_one),
        cmocka_unit_test(a_request_to_another_guest_passes_and_its_answer_comes_back),
        cmocka_unit_test(a_guest_that_has_its_share_under_way_is_told_to_try_later),
        cmocka_unit_test(a_late_answer_for_a_guest_that_has_ended_is_dropped),
        cmocka_unit_test(a_request_whose_guest_gave_up_is_cancelled_where_it_went),
        cmocka_unit_test(a_request_to_a_container_elsewhere_goes_to_the_router),
        cmocka_unit_test(a_request_with_a_query_goes_to_the_router),
        cmocka_unit_test(a_query_needs_a_router_and_a_mode),
        cmocka_unit_test(an_admitted_guest_has_no_query),
        cmocka_unit_test(a_request_that_turns_out_late_to_be_for_the_router_says_who_calls),
        cmocka_unit_test(a_guest_has_only_its_share_of_the_router),
        cmocka_unit_test(the_calls_of_a_guest_that_ends_are_taken_from_the_router),
        cmocka_unit_test(a_request_that_a_router_cancels_is_answered_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/method.h>

#include "host/call/nested_upcall.h"
#include "host/call/upcalls.h"
#include "tests/unit/host-call/floor.h"
#include "tests/unit/link/direct_pair.h"

static uint32_t nested; /* while the method ran */

static int add(void *self, uint32_t a, uint32_t b, uint32_t *result)
{
    struct stage *stage = self;

    nested = stage->host.process.owner.nested;
    *result = a + b;
    return 0;
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD(add, add, u32, u32, u32),
                                                RAPAHUB_METHOD_END};

static struct stage *open_nested(void)
{
    struct stage *stage = floor_open();

    nested = 99;
    floor_methods(stage, "sum(u32) -> u32\n");
    floor_offer(stage, methods, stage);
    return stage;
}

static struct host_container *service_of(struct stage *stage)
{
    return host_containers_find(&HOST_REGISTRY(&stage->host)->containers, floor_service);
}

static uint64_t id_of_add(struct stage *stage)
{
    return service_of(stage)->offer->methods->list[0]->id;
}

/* Sends a request without having the host receive it: it is in the ring. */
static void ask(struct stage *stage, const struct rapahub_container_id *target,
                struct floor_request *out)
{
    uint8_t id[HUB_LIFECYCLE_TARGET_MAX], head[128];
    struct hub_metadata metadata = {.target = {id, hub_lifecycle_put_target(*target, id)}};
    struct hub_writer writer;

    *out = (struct floor_request){.stage = stage};
    hub_writer_init(&writer, head, sizeof head);
    assert_int_equal(hub_metadata_write(&writer, &metadata), 0);
    assert_int_equal(hub_calls_begin(stage->pair.guest.connection.calls,
                                     &(struct hub_call){.method_id = id_of_add(stage),
                                                        .payload = {.head = {head, writer.size},
                                                                    .tail = {"\2\3", 2}},
                                                        .deadline_ns = hub_clock_after(SOON),
                                                        .answer = &out->answer},
                                     &out->number),
                     0);
}

static uint32_t serve(struct stage *stage, uint32_t most)
{
    be_far(&stage->pair); /* as the guest is that answers meanwhile */
    return host_nested_upcall_serve(&stage->host, &stage->life, most);
}

static void a_call_to_a_service_is_served_inside_of_the_wait(void **state)
{
    struct stage *stage = open_nested();
    struct floor_request request;
    char body[64];

    (void)state;
    ask(stage, &floor_service, &request);
    assert_int_equal(serve(stage, 4), 1);
    assert_int_equal(nested, 1);
    assert_int_equal(stage->host.process.owner.nested, 0);
    assert_int_equal(floor_response(&request, body).kind, HUB_RESPONSE_OK);
    assert_string_equal(body, "\5");
    floor_close(stage);
}

static void no_more_are_served_than_the_waiting_owner_wants(void **state)
{
    struct stage *stage = open_nested();
    struct floor_request requests[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        ask(stage, &floor_service, &requests[i]);
    assert_int_equal(serve(stage, 2), 2);
    assert_true(floor_is_answered(&requests[1]));
    assert_false(floor_is_answered(&requests[2]));
    assert_int_equal(serve(stage, 2), 1);
    for (int i = 0; i < 3; i++)
        (void)floor_response(&requests[i], NULL);
    floor_close(stage);
}

/* Only a turn sends it on. */
static void a_call_to_another_guest_waits_for_a_turn(void **state)
{
    struct stage *stage = open_nested();
    struct floor_request request;

    (void)state;
    ask(stage, &stage_here, &request);
    assert_int_equal(serve(stage, 4), 0);
    floor_receive(stage);
    assert_int_equal(host_upcalls_serve(&stage->host, &stage->life, 4), 1);
    (void)floor_response(&request, NULL);
    floor_close(stage);
}

/* Where the look-up is remembered, too. */
static void a_service_that_is_held_is_not_called(void **state)
{
    struct stage *stage = open_nested();
    struct floor_request request;

    (void)state;
    ask(stage, &floor_service, &request);
    assert_int_equal(serve(stage, 4), 1);
    (void)floor_response(&request, NULL);
    ask(stage, &floor_service, &request);
    host_routes_write(&HOST_REGISTRY(&stage->host)->routes);
    service_of(stage)->state = HOST_CONTAINER_HELD;
    host_routes_unlock(&HOST_REGISTRY(&stage->host)->routes);
    host_routes_announce(&HOST_REGISTRY(&stage->host)->routes);
    assert_int_equal(serve(stage, 4), 0);
    assert_false(floor_is_answered(&request));
    service_of(stage)->state = HOST_CONTAINER_READY;
    assert_int_equal(host_upcalls_serve(&stage->host, &stage->life, 4), 1);
    (void)floor_response(&request, NULL);
    floor_close(stage);
}

/* The stack of the owner is not for a guest to use up. */
static void upcalls_are_nested_only_so_deep(void **state)
{
    struct stage *stage = open_nested();
    struct host_owner *owner = &stage->host.process.owner;
    struct floor_request request;

    (void)state;
    ask(stage, &floor_service, &request);
    owner->depth = 8;
    owner->nested = HOST_WAIT_DEPTH_MAX - 8;
    assert_int_equal(serve(stage, 4), 0);
    hub_publish(&stage->life.work, HOST_WORK_REQUEST);
    assert_int_equal(host_nested_upcall_serve_queued(&stage->host, &stage->life, 4), 0);
    assert_int_equal(hub_observe(&stage->life.work), HOST_WORK_REQUEST);
    owner->nested--;
    assert_int_equal(serve(stage, 4), 1);
    owner->depth = owner->nested = 0;
    (void)floor_response(&request, NULL);
    floor_close(stage);
}

static void queued_requests_are_served_if_they_are_marked_as_work(void **state)
{
    struct stage *stage = open_nested();
    struct floor_request request;

    (void)state;
    ask(stage, &floor_service, &request);
    floor_receive(stage);
    assert_int_equal(host_nested_upcall_serve_queued(&stage->host, &stage->life, 4), 0);
    hub_publish(&stage->life.work, HOST_WORK_REQUEST | HOST_WORK_HINT);
    assert_int_equal(host_nested_upcall_serve_queued(&stage->host, &stage->life, 4), 1);
    assert_int_equal(hub_observe(&stage->life.work), HOST_WORK_HINT);
    assert_int_equal(nested, 1);
    assert_int_equal(stage->host.process.owner.nested, 0);
    (void)floor_response(&request, NULL);
    floor_close(stage);
}

/* Perhaps the owner waits for a long time then. */
static void an_event_of_a_nested_upcall_makes_a_turn_come(void **state)
{
    struct stage *stage = open_nested();
    struct floor_request request;

    (void)state;
    (void)floor_is_woken(stage);
    ask(stage, &floor_service, &request);
    assert_int_equal(serve(stage, 4), 1);
    (void)floor_response(&request, NULL);
    (void)floor_is_woken(stage);
    ask(stage, &floor_service, &request);
    stage->host.process.owner.events.count = 1;
    assert_int_equal(serve(stage, 4), 1);
    stage->host.process.owner.events.count = 0;
    assert_true(floor_is_woken(stage));
    (void)floor_response(&request, NULL);
    floor_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_to_a_service_is_served_inside_of_the_wait),
        cmocka_unit_test(no_more_are_served_than_the_waiting_owner_wants),
        cmocka_unit_test(a_call_to_another_guest_waits_for_a_turn),
        cmocka_unit_test(a_service_that_is_held_is_not_called),
        cmocka_unit_test(upcalls_are_nested_only_so_deep),
        cmocka_unit_test(queued_requests_are_served_if_they_are_marked_as_work),
        cmocka_unit_test(an_event_of_a_nested_upcall_makes_a_turn_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

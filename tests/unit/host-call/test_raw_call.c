/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/call/raw_call.h"
#include "tests/unit/host-call/desk.h"

struct raw_end {
    unsigned count;
    struct rapahub_raw_answer answer;
    char payload[16], text[128];
};

static void on_raw(void *user, const struct rapahub_raw_answer *answer)
{
    struct raw_end *end = user;

    end->count++;
    end->answer = *answer;
    assert_true(answer->payload.size <= sizeof end->payload);
    if (answer->payload.size > 0)
        memcpy(end->payload, answer->payload.data, answer->payload.size);
    snprintf(end->text, sizeof end->text, "%s", answer->text ? answer->text : "");
}

static int begin(const struct rapahub_raw_call *call, struct raw_end *end)
{
    struct host_raw_begun begun;
    int r = host_raw_call_begin(&desk.stage->host, call, on_raw, end, &begun);

    if (r == 0)
        (void)host_asyncs_serve(&desk.stage->host);
    return r;
}

/* r[verify hub.route.raw] */
static void its_bytes_reach_the_container_and_bytes_come_back(void **state)
{
    const struct rapahub_raw_call call = {
        .target = stage_here, .method_id = 5, .arguments = {"ab", 2}};
    struct stage *stage = desk_open();
    struct raw_end end = {0};
    struct hub_request *request;

    (void)state;
    stage->container->routed = true; /* even so */
    assert_int_equal(begin(&call, &end), 0);
    request = floor_next(stage);
    assert_non_null(request);
    assert_true(request->method_id == 5 && request->arguments.size == 2);
    assert_memory_equal(request->arguments.data, "ab", 2);
    assert_true(request->metadata.chain == 0);
    floor_answer(stage, request, "xyz", 3);
    floor_receive(stage);
    assert_true(end.count == 1 && end.answer.status == 0 && end.answer.payload.size == 3);
    assert_memory_equal(end.payload, "xyz", 3);
    assert_int_equal(desk.begun, 0);
    desk_close();
}

static void the_error_of_a_method_is_told_as_such(void **state)
{
    const struct rapahub_raw_call call = {.target = stage_here, .method_id = 5};
    const struct hub_response failed = {
        .kind = HUB_RESPONSE_USER, .code = 9, .text = rapahub_string_of("no")};
    struct stage *stage = desk_open();
    struct raw_end end = {0};

    (void)state;
    assert_int_equal(begin(&call, &end), 0);
    assert_int_equal(hub_inbound_calls_answer(stage->pair.guest.connection.served,
                                              floor_next(stage), &failed,
                                              (struct rapahub_bytes){NULL, 0}),
                     0);
    floor_receive(stage);
    assert_int_equal(end.answer.status, RAPAHUB_EAPPLICATION);
    assert_int_equal(end.answer.application, 9);
    assert_string_equal(end.text, "no");
    desk_close();
}

static void what_is_not_for_this_host_is_for_the_router(void **state)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_LOCAL};
    struct rapahub_raw_call call = {
        .target = desk_elsewhere, .method_id = 5, .from = {1, 2, 3}, .from_pool = {4, 5}};
    struct stage *stage = desk_open();
    struct raw_end end = {0};

    (void)state;
    assert_int_equal(begin(&call, &end), 0);
    assert_int_equal(desk.begun, 1);
    assert_true(desk.last.from.group == 1 && desk.last.from_pool.minor == 5);
    call.target = stage_here;
    call.query = &query;
    assert_int_equal(begin(&call, &end), 0);
    assert_int_equal(desk.begun, 2);
    assert_true(desk.query.mode == RAPAHUB_QUERY_LOCAL);
    assert_null(floor_next(stage));
    assert_int_equal(host_router_set(&stage->host, NULL), 0);
    assert_true(end.count == 2 && end.answer.status == RAPAHUB_ECLOSED);
    call.target = desk_elsewhere;
    call.query = NULL;
    assert_int_equal(begin(&call, &end), RAPAHUB_ENOENT);
    assert_int_equal(end.count, 2);
    desk_close();
}

/* Its container is taken away while it waits. r[verify hub.route.from] r[verify hub.route.uid] */
static void it_keeps_who_calls_if_the_router_gets_it_late(void **state)
{
    struct rapahub_raw_call call = {
        .target = stage_here, .method_id = 5, .from = {1, 2, 3}, .from_pool = {4, 5}};
    struct stage *stage = desk_open();
    struct raw_end end = {0};

    (void)state;
    stage->look = -EAGAIN;
    stage->guest.state = HOST_GUEST_STARTING;
    assert_int_equal(begin(&call, &end), 0);
    call.uid = (struct rapahub_uid){7, 8};
    assert_int_equal(begin(&call, &end), 0);
    assert_int_equal(desk.begun, 0);
    host_routes_write(&HOST_REGISTRY(&stage->host)->routes);
    host_containers_remove(&HOST_REGISTRY(&stage->host)->containers, stage->container);
    host_routes_unlock(&HOST_REGISTRY(&stage->host)->routes);
    assert_int_equal(host_asyncs_serve(&stage->host), 2);
    assert_int_equal(desk.begun, 2);
    assert_true(desk.last.from.group == 1 && desk.last.from.epoch == 2 && desk.last.from.peer == 3);
    assert_true(desk.last.from_pool.major == 4 && desk.last.from_pool.minor == 5);
    assert_true(desk.last.uid.origin == 7 && desk.last.uid.number == 8);
    assert_int_equal(desk_answer(desk.numbers[0], 0, "", 0), 0);
    assert_int_equal(desk_answer(desk.numbers[1], 0, "", 0), 0);
    assert_int_equal(host_router_serve(&stage->host), 2);
    assert_int_equal(end.count, 2);
    desk_close();
}

/* Its arguments may name a channel of another call: the guest would end its link.
 * r[verify sec.call.own] */
static void streams_that_were_not_known_in_time_are_refused(void **state)
{
    struct rapahub_raw_call call = {.target = stage_here, .arguments = {"\2", 1}};
    struct stage *stage = desk_open();
    struct host_methods *methods = stage->guest.methods;
    struct raw_end end = {0};

    (void)state;
    floor_methods(stage, "read(source) -> u64\n");
    call.method_id = host_methods_of_name(methods, "read")->id;
    stage->guest.methods = NULL; /* it starts for the first time */
    stage->guest.state = HOST_GUEST_STARTING;
    stage->look = -EAGAIN;
    assert_int_equal(begin(&call, &end), 0);
    stage->guest.methods = methods;
    stage->guest.state = HOST_GUEST_READY;
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_null(floor_next(stage));
    assert_true(end.count == 1 && end.answer.status == RAPAHUB_EBUSY);
    desk_close();
}

/* Each of them once, and of the kind that the method takes. */
static void its_arguments_name_streams_that_it_has(void **state)
{
    static const char *const wrong[] = {"\0\0", "\0\2", "\1\0", "\0", "\0\1\1"};
    struct rapahub_raw_stream streams[2];
    struct rapahub_raw_call call = {
        .target = stage_here, .arguments = {NULL, 2}, .streams = streams, .streams_count = 2};
    struct stage *stage = desk_open();
    struct raw_end end = {0};

    (void)state;
    floor_methods(stage, "mix(source, source) -> u64\npour(source, sink) -> u64\n");
    assert_int_equal(rapahub_source_of_memory("abc", 3, &streams[0].source), 0);
    assert_int_equal(rapahub_sink_of_memory(3, &streams[1].sink), 0);
    streams[0].sink = NULL;
    streams[1].source = NULL;
    call.method_id = host_methods_of_name(stage->guest.methods, "pour")->id;
    for (int i = 0; i < 5; i++) {
        call.arguments.data = wrong[i];
        call.arguments.size = i == 3 ? 1 : i == 4 ? 3 : 2;
        assert_int_equal(begin(&call, &end), RAPAHUB_EARGUMENTS);
    }
    call.method_id = host_methods_of_name(stage->guest.methods, "mix")->id;
    call.arguments = (struct rapahub_bytes){"\0\0", 2}; /* twice the same */
    assert_int_equal(begin(&call, &end), RAPAHUB_EARGUMENTS);
    call.streams = NULL;
    call.streams_count = 0;
    assert_int_equal(begin(&call, &end), RAPAHUB_EARGUMENTS);
    assert_null(floor_next(stage));
    assert_int_equal(end.count, 0);
    rapahub_source_destroy(streams[0].source);
    rapahub_sink_destroy(streams[1].sink);
    desk_close();
}

/* r[verify sec.call.own] */
static void one_of_a_guest_reaches_only_methods_that_are_declared(void **state)
{
    const struct rapahub_raw_call call = {.target = stage_here, .method_id = 5, .from = {1, 2, 3}};
    struct stage *stage = desk_open();
    struct raw_end end = {0};

    (void)state;
    assert_int_equal(begin(&call, &end), RAPAHUB_ENOMETHOD);
    assert_null(floor_next(stage));
    assert_int_equal(end.count, 0);
    desk_close();
}

/* Guests of other hosts have no part in what is left for this one. r[verify sec.call.share] */
static void one_of_a_guest_has_the_share_of_guests(void **state)
{
    struct rapahub_raw_call call = {.target = stage_here, .from = {1, 2, 3}};
    struct stage *stage = desk_open();
    struct raw_end end = {0};

    (void)state;
    floor_methods(stage, "sum(u32) -> u32\n");
    call.method_id = host_methods_of_name(stage->guest.methods, "sum")->id;
    assert_int_equal(begin(&call, &end), 0);
    hub_mutex_lock(&stage->host.asyncs.lock);
    assert_true(stage->host.asyncs.table.foreign == 1 && stage->host.asyncs.table.own == 0);
    hub_mutex_unlock(&stage->host.asyncs.lock);
    assert_int_equal(hub_observe(&stage->life.foreign), 1);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_true(end.count == 1 && hub_observe(&stage->life.foreign) == 0);
    call.target = desk_elsewhere;
    assert_int_equal(begin(&call, &end), 0);
    hub_mutex_lock(&stage->host.asyncs.lock);
    assert_int_equal(stage->host.asyncs.routed, 1); /* two routers may lead to each other */
    hub_mutex_unlock(&stage->host.asyncs.lock);
    desk_close();
}

static void what_is_no_call_is_refused(void **state)
{
    struct rapahub_raw_call call = {.target = stage_here, .method_id = 5, .reserved = {0, 1}};
    struct stage *stage = desk_open();
    struct raw_end end = {0};

    (void)state;
    assert_int_equal(begin(&call, &end), RAPAHUB_EINVAL);
    call.reserved[1] = 0;
    call.arguments.size = 1;
    assert_int_equal(begin(&call, &end), RAPAHUB_EINVAL);
    call.arguments = (struct rapahub_bytes){"", SIZE_MAX};
    assert_int_equal(begin(&call, &end), RAPAHUB_EMSGSIZE);
    call.arguments.size = 0;
    for (unsigned i = 0; i < HUB_LIFECYCLE_COUNT; i++) {
        call.method_id = hub_lifecycle_id((enum hub_lifecycle_method)i);
        assert_int_equal(begin(&call, &end), RAPAHUB_ENOMETHOD);
    }
    assert_null(floor_next(stage));
    assert_int_equal(end.count, 0);
    desk_close();
}

/* r[verify hub.route.chain] r[verify hub.route.uid] */
static void it_comes_in_the_chain_that_other_hosts_know(void **state)
{
    const struct rapahub_raw_call call = {
        .target = stage_here, .method_id = 5, .chain = 4242, .uid = {7, 8}};
    struct stage *stage = desk_open();
    struct hub_request *first, *second;
    struct host_chain_claim claim = {.life = &stage->life};
    struct raw_end end = {0};

    (void)state;
    assert_int_equal(begin(&call, &end), 0);
    assert_int_equal(begin(&call, &end), 0);
    first = floor_next(stage);
    second = floor_next(stage);
    claim.value = first->metadata.chain;
    assert_true(claim.value != 0 && claim.value != 4242);
    assert_true(second->metadata.chain == claim.value);
    assert_true(host_chains_uid(&claim).origin == 7 && host_chains_uid(&claim).number == 8);
    claim.value += 2; /* one that it was not given */
    assert_true(host_chains_uid(&claim).origin == 0);
    floor_answer(stage, first, "", 0);
    floor_answer(stage, second, "", 0);
    floor_receive(stage);
    claim.value -= 2; /* both have ended */
    assert_true(host_chains_uid(&claim).origin == 0);
    assert_int_equal(end.count, 2);
    desk_close();
}

/* A refusal of the container here counts for nothing. r[verify hub.route.uid] */
static void a_container_that_starts_is_called_by_the_router_in_a_chain_with_a_uid(void **state)
{
    static const int looks[] = {-EAGAIN, RAPAHUB_ERESTARTING};
    const struct rapahub_raw_call call = {
        .target = stage_here, .method_id = 5, .chain = 4242, .uid = {7, 8}};
    struct stage *stage = desk_open();
    struct host_chain_claim claim = {.life = &stage->life};
    struct hub_request *request;
    struct host_route route;
    struct raw_end end = {0};
    struct rapahub_uid uid;

    (void)state;
    assert_int_equal(begin(&call, &end), 0);
    request = floor_next(stage);
    claim.value = request->metadata.chain;
    stage->guest.state = HOST_GUEST_STARTING;
    for (int i = 0; i < 2; i++) {
        stage->look = looks[i];
        assert_int_equal(host_route_find_claimed(&stage->host, stage_here, &claim, &route, &uid),
                         HOST_ROUTE_AWAY);
        assert_true(uid.origin == 7 && uid.number == 8);
        host_route_drop(&route);
    }
    stage->guest.state = HOST_GUEST_READY;
    floor_answer(stage, request, "", 0);
    floor_receive(stage);
    desk_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_bytes_reach_the_container_and_bytes_come_back),
        cmocka_unit_test(the_error_of_a_method_is_told_as_such),
        cmocka_unit_test(what_is_not_for_this_host_is_for_the_router),
        cmocka_unit_test(it_keeps_who_calls_if_the_router_gets_it_late),
        cmocka_unit_test(streams_that_were_not_known_in_time_are_refused),
        cmocka_unit_test(its_arguments_name_streams_that_it_has),
        cmocka_unit_test(one_of_a_guest_reaches_only_methods_that_are_declared),
        cmocka_unit_test(one_of_a_guest_has_the_share_of_guests),
        cmocka_unit_test(what_is_no_call_is_refused),
        cmocka_unit_test(it_comes_in_the_chain_that_other_hosts_know),
        cmocka_unit_test(a_container_that_starts_is_called_by_the_router_in_a_chain_with_a_uid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The guest answers in the turns that its host takes while it waits. */
#include <rapahub/error.h>
#include <rapahub/method.h>

#include "host/call/cached_call.h"
#include "host/call/request.h"
#include "host/call/route_call.h"
#include "tests/unit/host-call/floor.h"
#include "tests/unit/link/direct_pair.h"

static const uint32_t seven = 7;
static const void *const arguments[] = {&seven, NULL};
static unsigned turns_until_ready, turns;
static const char *body; /* of one byte: of each answer */

static int add(void *self, uint32_t a, uint32_t *result)
{
    (void)self;
    *result = a + 1;
    return 0;
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD(next, add, u32, u32),
                                                RAPAHUB_METHOD_END};

static int answer_until(struct host_owner *owner, uint64_t deadline_ns)
{
    struct stage *stage = (struct stage *)(void *)owner;
    struct hub_request *request;

    if (hub_clock_left(deadline_ns) == 0)
        return 0;
    turns++;
    if (turns_until_ready > 0 && --turns_until_ready == 0)
        stage->guest.state = HOST_GUEST_READY;
    if (!hub_link_closed(stage->pair.guest.connection.link)) {
        while ((request = floor_next(stage)))
            floor_answer(stage, request, body, 1);
        (void)hub_link_sweep(stage->life.connection.link, UINT32_MAX);
    }
    return 0;
}

static int answer_turn(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return answer_until(owner, HUB_NEVER);
}

static uint32_t serve_nobody(struct host_call *host, struct host_life *life, uint32_t most)
{
    (void)host;
    (void)life;
    (void)most;
    return 0;
}

static struct stage *open_calls(void)
{
    static const struct host_call_hooks hooks = {.look = stage_look,
                                                 .call = stage_call,
                                                 .serve = serve_nobody,
                                                 .serve_queued = serve_nobody};
    static const struct host_turns answering = {answer_turn, answer_until};
    struct stage *stage = floor_open();

    turns = turns_until_ready = 0;
    body = "\x09";
    stage->host.hooks = &hooks;
    stage->host.process.owner.turns = &answering;
    floor_methods(stage, "next(u32) -> u32\n"
                         "put(bytes) -> u32\n"
                         "echo(bytes) -> bytes\n");
    return stage;
}

static struct rapahub_call call_of(struct rapahub_container_id target)
{
    return (struct rapahub_call){
        .target = target, .method = "next(u32) -> u32", .arguments = arguments};
}

static void a_call_takes_turns_until_its_guest_has_answered(void **state)
{
    struct rapahub_call call = call_of(stage_here);
    struct stage *stage = open_calls();
    uint32_t result = 0;

    (void)state;
    assert_int_equal(host_route_call(&stage->host, &call, &result), 0);
    assert_int_equal(result, 9);
    assert_true(turns > 0);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    assert_int_equal(host_containers_users(stage->container), 0);
    floor_close(stage);
}

/* The second goes directly, to a guest that has answered already. */
static void an_answer_without_a_byte_is_a_violation_and_the_call_is_not_sent_again(void **state)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_bytes, &rapahub_type_bytes,
                                                       NULL};
    const struct rapahub_bytes in = {"abc", 3};
    const void *const of_in[] = {&in, NULL};
    uint64_t id = 0;
    const struct rapahub_call call = {.target = stage_here,
                                      .method = "echo",
                                      .types = types,
                                      .arguments = of_in,
                                      .method_id = &id};
    struct stage *stage = open_calls();
    struct rapahub_bytes result = {NULL, 0};
    uint32_t sent;

    (void)state;
    body = "";
    assert_int_equal(host_route_call(&stage->host, &call, &result), 0);
    assert_int_equal(hub_link_sweep(stage->pair.guest.connection.link, 8), 0);
    sent = sent_to_guest(&stage->pair);
    be_far(&stage->pair);
    send_raw(&stage->pair.guest, HUB_RESPONSE, 2 * FIRST_ID, "", 0);
    assert_int_equal(host_route_call(&stage->host, &call, &result), RAPAHUB_EPROTOCOL);
    assert_int_equal(sent_to_guest(&stage->pair), sent + 1);
    floor_close(stage);
}

static void a_call_to_a_service_needs_no_turn(void **state)
{
    struct rapahub_call call = call_of(floor_service);
    struct stage *stage = open_calls();
    uint32_t result = 0;

    (void)state;
    floor_offer(stage, methods, NULL);
    assert_int_equal(host_route_call(&stage->host, &call, &result), 0);
    assert_int_equal(result, 8);
    assert_int_equal(turns, 0);
    floor_close(stage);
}

static void a_call_waits_for_a_guest_that_starts(void **state)
{
    struct rapahub_call call = call_of(stage_here);
    struct stage *stage = open_calls();
    uint32_t result = 0;

    (void)state;
    stage->guest.state = HOST_GUEST_STARTING;
    stage->look = -EAGAIN;
    turns_until_ready = 3;
    assert_int_equal(host_route_call(&stage->host, &call, &result), 0);
    assert_int_equal(result, 9);
    assert_true(turns >= 3);
    floor_close(stage);
}

/* r[verify sec.call.time] */
static void a_call_is_over_at_its_time_though_its_guest_goes_on_starting(void **state)
{
    struct rapahub_call call = call_of(stage_here);
    struct stage *stage = open_calls();
    uint32_t result = 0;

    (void)state;
    stage->guest.state = HOST_GUEST_STARTING;
    stage->look = -EAGAIN;
    call.timeout_ns = HUB_MILLISECOND;
    assert_int_equal(host_route_call(&stage->host, &call, &result), RAPAHUB_ETIMEDOUT);
    assert_int_equal(host_containers_users(stage->container), 0);
    floor_close(stage);
}

/* An owner that has not noticed the end of a guest may start it again in a moment. */
static void a_call_by_a_closed_link_is_tried_again_for_a_moment_only(void **state)
{
    struct rapahub_call call = call_of(stage_here);
    struct stage *stage = open_calls();
    uint64_t before = hub_clock_now();
    uint32_t result = 0;

    (void)state;
    hub_link_close(stage->life.connection.link, RAPAHUB_ECLOSED, "");
    assert_int_equal(host_route_call(&stage->host, &call, &result), RAPAHUB_ESTALE);
    assert_true(turns > 1);
    assert_in_range(hub_clock_now() - before, 50 * HUB_MILLISECOND, 5 * HUB_SECOND);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    floor_close(stage);
}

static void a_call_with_a_loan_is_not_tried_again(void **state)
{
    struct stage *stage = open_calls();
    struct rapahub_bytes bytes;
    const void *const of_loan[] = {&bytes, NULL};
    struct rapahub_loan loan;
    struct rapahub_call call = {
        .target = stage_here, .method = "put(bytes) -> u32", .arguments = of_loan, .loan = &loan};
    uint32_t result = 0;

    (void)state;
    assert_int_equal(host_loans_take(&stage->host, stage_here, 100, &loan), 0);
    memset(loan.data, 0, 100);
    bytes = (struct rapahub_bytes){loan.data, 100};
    hub_link_close(stage->life.connection.link, RAPAHUB_ECLOSED, "");
    assert_int_equal(host_route_call(&stage->host, &call, &result), RAPAHUB_ESTALE);
    assert_int_equal(turns, 0);
    assert_non_null(loan.data); /* it was not sent, so it still is the caller's */
    host_loans_drop(&stage->host, &loan);
    floor_close(stage);
}

static void a_loan_that_was_sent_is_the_caller_s_no_more(void **state)
{
    struct stage *stage = open_calls();
    struct rapahub_bytes bytes;
    const void *const of_loan[] = {&bytes, NULL};
    struct rapahub_loan loan;
    struct rapahub_call call = {
        .target = stage_here, .method = "put(bytes) -> u32", .arguments = of_loan, .loan = &loan};
    uint32_t result = 0;

    (void)state;
    assert_int_equal(host_loans_take(&stage->host, stage_here, 100, &loan), 0);
    memset(loan.data, 0, 100);
    bytes = (struct rapahub_bytes){loan.data, 100};
    assert_int_equal(host_route_call(&stage->host, &call, &result), 0);
    assert_int_equal(result, 9);
    assert_null(loan.data);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    floor_close(stage);
}

/* r[verify hub.host.fork] */
static void a_forked_child_makes_no_calls(void **state)
{
    struct rapahub_call call = call_of(stage_here);
    struct stage *stage = open_calls();
    struct host_callers *callers = &HOST_REGISTRY(&stage->host)->callers;
    uint64_t number = callers->number;
    uint32_t result = 0;

    (void)state;
    callers->number = 0;
    assert_int_equal(host_route_call(&stage->host, &call, &result), RAPAHUB_ESTATE);
    callers->number = number;
    assert_null(floor_next(stage));
    floor_close(stage);
}

static uint32_t answer_queued(struct host_call *host, struct host_life *life, uint32_t most)
{
    struct stage *stage = (struct stage *)(void *)host;
    struct hub_request *request = floor_next(stage);

    assert_ptr_equal(life, &stage->life);
    assert_true(most > 0);
    if (!request)
        return 0;
    floor_answer(stage, request, "", 0);
    return 1;
}

/* As if the guest had asked back first, and has its answer now. */
static void queued_requests_of_the_same_guest_are_served_without_a_turn(void **state)
{
    static const struct host_call_hooks hooks = {.look = stage_look,
                                                 .call = stage_call,
                                                 .serve = serve_nobody,
                                                 .serve_queued = answer_queued};
    struct stage *stage = open_calls();
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(&stage->host)->callers);
    struct hub_calls *calls = stage->life.connection.calls;
    struct hub_answer answer = {0};
    const struct hub_call call = {.method_id = 3,
                                  .payload = {.head = {(const uint8_t *)"", 1}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .answer = &answer};
    uint64_t number;

    (void)state;
    stage->host.hooks = &hooks;
    host_caller_set_place(caller, &stage->life, stage->container, 1);
    host_caller_enter(caller);
    assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
    assert_int_equal(host_request_wait(&stage->host, calls, number, false), 0);
    assert_int_equal(turns, 0);
    host_caller_leave(caller);
    hub_responses_fini(&answer);
    floor_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_takes_turns_until_its_guest_has_answered),
        cmocka_unit_test(an_answer_without_a_byte_is_a_violation_and_the_call_is_not_sent_again),
        cmocka_unit_test(a_call_to_a_service_needs_no_turn),
        cmocka_unit_test(a_call_waits_for_a_guest_that_starts),
        cmocka_unit_test(a_call_is_over_at_its_time_though_its_guest_goes_on_starting),
        cmocka_unit_test(a_call_by_a_closed_link_is_tried_again_for_a_moment_only),
        cmocka_unit_test(a_call_with_a_loan_is_not_tried_again),
        cmocka_unit_test(a_loan_that_was_sent_is_the_caller_s_no_more),
        cmocka_unit_test(a_forked_child_makes_no_calls),
        cmocka_unit_test(queued_requests_of_the_same_guest_are_served_without_a_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

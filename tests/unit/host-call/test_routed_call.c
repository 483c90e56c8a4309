/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/call/routed_call.h"
#include "tests/unit/host-call/desk.h"

/* What the turns of the owner do: the first gives the call to the router, the next ones end it. */
static const char *turn_payload;
static size_t turn_size;
static int turn_status;

static int turn(struct host_owner *owner, uint64_t deadline_ns)
{
    struct host_call *host = HOST_CALL(owner);

    (void)deadline_ns;
    if (desk.begun > 0 && turn_payload)
        (void)desk_answer(desk.numbers[desk.begun - 1], turn_status, turn_payload, turn_size);
    return host_asyncs_serve(host) + host_router_serve(host);
}

static struct stage *open_turns(const char *payload, size_t size, int status)
{
    static const struct host_turns turns = {.until = turn};
    struct stage *stage = desk_open();

    stage->host.process.owner.turns = &turns;
    turn_payload = payload;
    turn_size = size;
    turn_status = status;
    return stage;
}

static int call(struct stage *stage, uint64_t span_ns, struct rapahub_loan *loan, uint32_t *result)
{
    const uint32_t a = 2, b = 3;
    const void *const arguments[] = {&a, &b, NULL};
    const struct rapahub_call asked = {.target = desk_elsewhere,
                                       .method = "add(u32, u32) -> u32",
                                       .arguments = arguments,
                                       .loan = loan};
    const struct host_routed_order order = {
        .call = &asked, .uid = {3, 4}, .deadline_ns = hub_clock_after(span_ns)};

    return host_routed_call(&stage->host, &order, result);
}

static void its_result_is_decoded(void **state)
{
    struct stage *stage = open_turns("\5", 1, 0);
    uint32_t sum = 0;

    (void)state;
    assert_int_equal(call(stage, SOON, NULL, &sum), 0);
    assert_int_equal(sum, 5);
    assert_true(desk.last.uid.origin == 3 && desk.last.uid.number == 4);
    assert_int_equal(desk.cancelled, 0);
    desk_close();
}

/* r[verify message.decode-error] */
static void an_answer_that_cannot_be_the_result_is_refused(void **state)
{
    struct stage *stage = open_turns("\5\5", 2, 0);
    uint32_t sum = 0;

    (void)state;
    assert_int_equal(call(stage, SOON, NULL, &sum), RAPAHUB_EPROTOCOL);
    assert_non_null(strstr(rapahub_last_error()->text, "add"));
    turn_size = 0;
    assert_int_equal(call(stage, SOON, NULL, &sum), RAPAHUB_EPROTOCOL);
    desk_close();
}

static void its_failure_is_that_of_the_answer(void **state)
{
    struct stage *stage = open_turns("", 0, RAPAHUB_EAPPLICATION);
    uint32_t sum = 0;

    (void)state;
    assert_int_equal(call(stage, SOON, NULL, &sum), RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_last_error()->application, 5);
    assert_string_equal(rapahub_last_error()->text, "its text");
    turn_status = RAPAHUB_ESTALE;
    assert_int_equal(call(stage, SOON, NULL, &sum), RAPAHUB_ESTALE);
    assert_string_equal(rapahub_last_error()->text, "its text");
    desk.refuses = RAPAHUB_EACCES;
    turn_payload = NULL;
    assert_int_equal(call(stage, SOON, NULL, &sum), RAPAHUB_EACCES);
    desk_close();
}

/* The owner's turns may all be too deep to end it. r[verify hub.route.deadline] */
static void it_ends_at_its_deadline_even_if_no_turn_ends_it(void **state)
{
    struct stage *stage = open_turns(NULL, 0, 0);
    uint32_t sum = 0;

    (void)state;
    stage->until = 0;
    stage->host.process.owner.turns = &(const struct host_turns){.until = stage_until};
    assert_int_equal(call(stage, 20 * HUB_MILLISECOND, NULL, &sum), RAPAHUB_ETIMEDOUT);
    assert_int_equal(desk.begun, 0);
    assert_int_equal(host_asyncs_serve(&stage->host), 1); /* cancelled: the router never has it */
    assert_int_equal(desk.begun, 0);
    desk_close();
}

/* ---- with streams ---- */

static bool has_answered;

/* Writes more than the pair holds while nobody reads, and answers well. */
static int write_and_answer(struct host_owner *owner, uint64_t deadline_ns)
{
    static const char data[60000];
    struct host_call *host = HOST_CALL(owner);

    (void)deadline_ns;
    if (desk.begun > 0 && !has_answered) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(rapahub_sink_write(desk.last.streams[0].sink, data, sizeof data), 0);
        assert_int_equal(desk_answer(desk.numbers[0], 0, "", 0), 0);
        has_answered = true;
    }
    return host_asyncs_serve(host) + host_router_serve(host);
}

static int take_turn(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return write_and_answer(owner, 0);
}

static bool is_cancelled(void *user)
{
    (void)user;
    return has_answered;
}

/* Bytes that the router wrote are missing then. r[verify hub.route.streams] */
static void a_cancel_while_the_last_bytes_are_written_is_the_end(void **state)
{
    static const struct host_turns turns = {take_turn, write_and_answer};
    struct stage *stage = open_turns(NULL, 0, 0);
    struct hub_answer answer = {0};
    struct hub_stream_marks marks = {.count = 1};
    struct host_routed_request request = {.target = desk_elsewhere,
                                          .method_id = 5,
                                          .arguments = {"\0", 1},
                                          .marks = &marks,
                                          .deadline_ns = hub_clock_after(SOON),
                                          .method = "fill",
                                          .is_cancelled = is_cancelled};
    struct rapahub_source *reader;
    struct rapahub_sink *sink;

    (void)state;
    has_answered = false;
    stage->host.process.owner.turns = &turns;
    hub_thread_pool_init(&stage->host.waiters);
    assert_int_equal(rapahub_stream_pair(&sink, &reader), 0);
    marks.list[0] = (struct hub_stream_mark){.at = 0, .size = 1, .is_sink = true, .stream = sink};
    assert_int_equal(host_routed_call_run(&stage->host, &request, &answer), RAPAHUB_ECANCELED);
    assert_true(has_answered);
    assert_string_equal(rapahub_last_error()->text, "fill was cancelled");
    hub_thread_pool_fini(&stage->host.waiters);
    hub_responses_fini(&answer);
    rapahub_sink_destroy(sink);
    rapahub_source_destroy(reader);
    desk_close();
}

/* r[verify hub.route.bound] */
static void a_request_with_streams_waits_for_those_of_ended_ones(void **state)
{
    static const struct host_turns turns = {take_turn, turn};
    struct stage *stage = open_turns("", 0, 0);
    struct host_routed ended[HOST_ROUTED_LENT_MAX] = {{.number = 0}};
    struct hub_stream_marks marks = {.count = 1};
    struct host_routed_request request = {.target = desk_elsewhere,
                                          .arguments = {"\0", 1},
                                          .marks = &marks,
                                          .origin = {.from = {1, 2, 3}},
                                          .foreign = true,
                                          .deadline_ns = hub_clock_after(SOON),
                                          .method = "fill"};
    struct hub_answer answer = {0};
    struct rapahub_sink *sink;

    (void)state;
    has_answered = true;
    stage->host.process.owner.turns = &turns;
    hub_thread_pool_init(&stage->host.waiters);
    assert_int_equal(rapahub_sink_of_memory(8, &sink), 0);
    marks.list[0] = (struct hub_stream_mark){.at = 0, .size = 1, .is_sink = true, .stream = sink};
    for (int i = 0; i < HOST_ROUTED_LENT_MAX; i++) {
        ended[i].origin.from = request.origin.from;
        hub_list_append(&stage->host.router.lent, &ended[i].link);
    }
    assert_int_equal(host_routed_call_run(&stage->host, &request, &answer), RAPAHUB_EBUSY);
    assert_int_equal(desk.begun, 0);
    hub_list_init(&stage->host.router.lent);
    assert_int_equal(host_routed_call_run(&stage->host, &request, &answer), 0);
    hub_thread_pool_fini(&stage->host.waiters);
    hub_responses_fini(&answer);
    rapahub_sink_destroy(sink);
    desk_close();
}

static void an_owner_that_cannot_wait_says_so(void **state)
{
    struct stage *stage = open_turns(NULL, 0, 0);
    uint32_t sum = 0;

    (void)state;
    stage->until = RAPAHUB_EBADF;
    stage->host.process.owner.turns = &(const struct host_turns){.until = stage_until};
    assert_int_equal(call(stage, SOON, NULL, &sum), RAPAHUB_EBADF);
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EBADF);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    desk_close();
}

/* r[verify hub.route.loan] */
static void it_takes_no_loan(void **state)
{
    struct stage *stage = open_turns("\5", 1, 0);
    struct rapahub_loan loan = {.data = NULL};
    uint32_t sum = 0;

    (void)state;
    assert_int_equal(call(stage, SOON, &loan, &sum), RAPAHUB_ENOTLOCAL);
    assert_int_equal(desk.begun, 0);
    desk_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_result_is_decoded),
        cmocka_unit_test(an_answer_that_cannot_be_the_result_is_refused),
        cmocka_unit_test(its_failure_is_that_of_the_answer),
        cmocka_unit_test(it_ends_at_its_deadline_even_if_no_turn_ends_it),
        cmocka_unit_test(a_cancel_while_the_last_bytes_are_written_is_the_end),
        cmocka_unit_test(a_request_with_streams_waits_for_those_of_ended_ones),
        cmocka_unit_test(an_owner_that_cannot_wait_says_so),
        cmocka_unit_test(it_takes_no_loan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
        cmocka_unit_test(it_takes_no_loan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "tests/support/pause.h"
#include "tests/unit/host-call/desk.h"

/* r[verify hub.route.begin] */
static void the_router_gets_all_of_a_call_and_its_answer_ends_it(void **state)
{
    struct stage *stage = desk_open();
    uint64_t number = desk_call(desk_make());

    (void)state;
    assert_int_equal(desk.begun, 1);
    assert_true(desk.numbers[0] == number);
    assert_memory_equal(&desk.last.target, &desk_elsewhere, sizeof desk_elsewhere);
    assert_true(desk.last.method_id == 5 && desk.last.chain == 0 && !desk.last.query);
    assert_true(desk.last.timeout_ns > 0 && desk.last.timeout_ns <= SOON);
    assert_true(desk.last.from.peer == 0 && desk.last.uid.origin == 0);
    assert_int_equal(desk_ends.count, 0);
    assert_int_equal(host_router_serve(&stage->host), 0);
    assert_int_equal(desk_answer(number, 0, "xy", 2), 0);
    assert_true(floor_is_woken(stage));
    assert_int_equal(desk_ends.count, 0); /* only the owner ends it, in a turn */
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk_ends.count == 1 && desk_ends.code == 0);
    assert_int_equal(desk_ends.size, 4);
    assert_memory_equal(desk_ends.payload, "\0\0xy", 4);
    desk_close();
}

/* r[verify hub.route.once] */
static void a_second_answer_and_one_to_no_call_are_refused(void **state)
{
    struct stage *stage = desk_open();
    uint64_t number = desk_call(desk_make());
    struct host_async *plain = desk_make();
    uint64_t other;

    (void)state;
    assert_int_equal(desk_answer(number + 1, 0, "", 0), RAPAHUB_ESTALE);
    assert_int_equal(desk_answer(0, 0, "", 0), RAPAHUB_ESTALE);
    assert_int_equal(desk_answer(UINT64_MAX, 0, "", 0), RAPAHUB_ESTALE);
    plain->target = stage_here; /* a call that the router does not have */
    assert_int_equal(host_asyncs_begin(&stage->host, plain, &other), 0);
    assert_int_equal(desk_answer(other, 0, "", 0), RAPAHUB_ESTALE);
    assert_int_equal(desk_answer(number, 0, "x", 1), 0);
    assert_int_equal(desk_answer(number, 0, "y", 1), RAPAHUB_ESTALE);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(desk_answer(number, 0, "y", 1), RAPAHUB_ESTALE);
    assert_memory_equal(desk_ends.payload, "\0\0x", 3);
    assert_int_equal(desk_ends.count, 1);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_int_equal(desk_ends.count, 2);
    desk_close();
}

static void what_is_no_answer_leaves_the_call_as_it_is(void **state)
{
    const struct rapahub_raw_answer nothing = {.payload = {NULL, 4}},
                                    huge = {.payload = {"", SIZE_MAX}};
    struct stage *stage = desk_open();
    uint64_t number = desk_call(desk_make());

    (void)state;
    assert_int_equal(desk_answer(number, 7, "", 0), RAPAHUB_EINVAL);
    assert_int_equal(host_router_answer(&stage->host, number, &nothing), RAPAHUB_EINVAL);
    assert_int_equal(host_router_answer(&stage->host, number, &huge), RAPAHUB_EMSGSIZE);
    assert_int_equal(host_router_serve(&stage->host), 0);
    assert_int_equal(desk_answer(number, 0, "", 0), 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    desk_close();
}

static void failures_keep_their_code_and_text(void **state)
{
    struct stage *stage = desk_open();
    struct hub_response response;
    struct hub_reader reader;

    (void)state;
    assert_int_equal(desk_answer(desk_call(desk_make()), RAPAHUB_EDIED, "", 0), 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(desk_ends.code, RAPAHUB_EDIED);
    assert_string_equal(desk_ends.text, "its text");
    assert_int_equal(desk_answer(desk_call(desk_make()), RAPAHUB_EAPPLICATION, "", 0), 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_int_equal(desk_ends.code, 0);
    hub_reader_init(&reader, desk_ends.payload, desk_ends.size);
    assert_int_equal(hub_response_decode(&reader, &response), 0);
    assert_true(response.kind == HUB_RESPONSE_USER && response.code == 5);
    desk_close();
}

static void the_router_may_answer_or_refuse_in_begin(void **state)
{
    struct stage *stage = desk_open();

    (void)state;
    desk.answers = true;
    (void)desk_call(desk_make());
    assert_int_equal(desk_ends.count, 0);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk_ends.count == 1 && desk_ends.code == 0);
    desk.refuses = RAPAHUB_EBUSY; /* both: the answer was first */
    (void)desk_call(desk_make());
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk_ends.count == 2 && desk_ends.code == 0);
    desk.answers = false;
    (void)desk_call(desk_make());
    assert_true(desk_ends.count == 3 && desk_ends.code == RAPAHUB_EBUSY);
    assert_non_null(strstr(desk_ends.text, "the router refused it"));
    assert_int_equal(desk_answer(desk.numbers[2], 0, "", 0), RAPAHUB_ESTALE);
    assert_int_equal(desk.cancelled, 0);
    desk_close();
}

/* r[verify hub.route.once] */
static void a_cancelled_call_ends_and_the_router_is_told_once(void **state)
{
    struct stage *stage = desk_open();
    uint64_t number = desk_call(desk_make());

    (void)state;
    host_asyncs_cancel(&stage->host, number);
    host_asyncs_cancel(&stage->host, number);
    assert_int_equal(desk_answer(number, 0, "", 0), RAPAHUB_ESTALE);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk_ends.count == 1 && desk_ends.code == RAPAHUB_ECANCELED);
    assert_true(desk.cancelled == 1 && desk.cancels[0] == number);
    desk.cancels_itself = true; /* while the router is being given it */
    number = desk_call(desk_make());
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk_ends.count == 2 && desk_ends.code == RAPAHUB_ECANCELED);
    assert_true(desk.cancelled == 2 && desk.cancels[1] == number);
    desk_close();
}

/* r[verify hub.route.deadline] */
static void a_call_that_is_never_answered_ends_at_its_deadline(void **state)
{
    struct stage *stage = desk_open();
    struct host_async *late = desk_make(), *soon = desk_make();

    (void)state;
    soon->deadline_ns = hub_clock_after(20 * HUB_MILLISECOND);
    (void)desk_call(late);
    assert_true(host_router_next_deadline(&stage->host) == late->deadline_ns);
    (void)desk_call(soon);
    assert_true(host_router_next_deadline(&stage->host) == soon->deadline_ns);
    assert_int_equal(host_router_serve(&stage->host), 0);
    while (hub_clock_left(host_router_next_deadline(&stage->host)) > 0)
        pause_ms(1);
    assert_int_equal(host_router_serve(&stage->host), 1);
    assert_true(desk_ends.count == 1 && desk_ends.code == RAPAHUB_ETIMEDOUT);
    assert_int_equal(desk.cancelled, 1);
    assert_true(host_router_next_deadline(&stage->host) == late->deadline_ns);
    desk_close();
}

/* r[verify hub.route.replace] */
static void the_calls_of_a_router_that_goes_end(void **state)
{
    const struct rapahub_router incomplete = {.user = &desk},
                                unknown = {.begin = desk_begin, .reserved = {0, 1}};
    struct stage *stage = desk_open();
    uint64_t answered = desk_call(desk_make()), open = desk_call(desk_make());

    (void)state;
    assert_int_equal(host_router_set(&stage->host, &incomplete), RAPAHUB_EINVAL);
    assert_int_equal(host_router_set(&stage->host, &unknown), RAPAHUB_EINVAL);
    assert_int_equal(desk_ends.count, 0);
    assert_int_equal(desk_answer(answered, 0, "", 0), 0);
    assert_int_equal(host_router_set(&stage->host, &desk_router), 0);
    assert_true(desk_ends.count == 2 && desk_ends.code == RAPAHUB_ECLOSED);
    assert_true(desk.cancelled == 1 && desk.cancels[0] == open);
    assert_int_equal(desk_answer(open, 0, "", 0), RAPAHUB_ESTALE);
    assert_true(host_router_next_deadline(&stage->host) == HUB_NEVER);
    (void)desk_call(desk_make());
    assert_int_equal(desk.begun, 3);
    host_router_close(&stage->host);
    assert_true(desk_ends.count == 3 && desk_ends.code == RAPAHUB_EDIED);
    desk_close();
}

static void a_call_for_a_router_that_is_gone_is_refused(void **state)
{
    const struct host_routed_origin nobody = {0};
    struct stage *stage = desk_open();
    struct host_async *async = desk_make();

    (void)state;
    assert_int_equal(host_routed_add(&stage->host.asyncs, async, &nobody), 0);
    assert_int_equal(host_router_set(&stage->host, NULL), 0);
    (void)desk_call(async);
    assert_true(desk_ends.count == 1 && desk_ends.code == RAPAHUB_ENOTLOCAL);
    assert_int_equal(desk.begun, 0);
    desk_close();
}

static void the_methods_are_those_that_the_router_knows(void **state)
{
    struct stage *stage = desk_open();

    (void)state;
    assert_int_equal(host_router_methods(&stage->host, desk_elsewhere, NULL, NULL),
                     RAPAHUB_ENOTLOCAL);
    assert_non_null(strstr(rapahub_last_error()->text, "7.7[7]"));
    desk_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_router_gets_all_of_a_call_and_its_answer_ends_it),
        cmocka_unit_test(a_second_answer_and_one_to_no_call_are_refused),
        cmocka_unit_test(what_is_no_answer_leaves_the_call_as_it_is),
        cmocka_unit_test(failures_keep_their_code_and_text),
        cmocka_unit_test(the_router_may_answer_or_refuse_in_begin),
        cmocka_unit_test(a_cancelled_call_ends_and_the_router_is_told_once),
        cmocka_unit_test(a_call_that_is_never_answered_ends_at_its_deadline),
        cmocka_unit_test(the_calls_of_a_router_that_goes_end),
        cmocka_unit_test(a_call_for_a_router_that_is_gone_is_refused),
        cmocka_unit_test(the_methods_are_those_that_the_router_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

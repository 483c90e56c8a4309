/* SPDX-License-Identifier: Apache-2.0 */
/* The results of calls to a guest: serve.c. */
#include "tests/unit/guest-sdk/whole/whole.h"

#define CALLS 10

static void a_result_comes_back(void **state)
{
    const int64_t a = INT64_MAX - 1, b = 1;
    struct whole whole;
    int64_t sum = 0;

    (void)state;
    whole_open(&whole);
    assert_int_equal(
        whole_run_method(&whole, 1, "add(i64, i64) -> i64", WHOLE_ARGUMENTS(&a, &b), &sum), 0);
    assert_true(sum == INT64_MAX);
    whole_close(&whole);
}

/* Data that a result points to still exists when it is written, and not afterwards: the sanitizer
 * checks that. */
static void a_text_made_for_the_answer_comes_back(void **state)
{
    struct rapahub_string name = rapahub_string_of("world"), text = {NULL, 0};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            whole_run_method(&whole, 1, "greet(string) -> string", WHOLE_ARGUMENTS(&name), &text),
            0);
        assert_int_equal(text.size, 12);
        assert_memory_equal(text.data, "hello, world", 12);
    }
    whole_close(&whole);
}

/* r[verify call.error.user] */
static void an_error_comes_back_with_code_and_text(void **state)
{
    const int32_t codes[] = {-5, 5, INT32_MIN, INT32_MAX, RAPAHUB_EFULL, -ECANCELED};
    struct rapahub_string text = rapahub_string_of("no room on shelf 3");
    struct whole whole;

    (void)state;
    whole_open(&whole);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        assert_int_equal(whole_run_method(&whole, 1, "fail(i32, string) -> void",
                                          WHOLE_ARGUMENTS(&codes[i], &text), NULL),
                         RAPAHUB_EAPPLICATION);
        whole_assert_application(codes[i], "no room on shelf 3");
    }
    whole_close(&whole);
}

static void an_error_without_a_text_names_method_and_code(void **state)
{
    const int32_t code = -ENOSPC;
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(
        whole_run_method(&whole, 1, "fail_silently(i32) -> void", WHOLE_ARGUMENTS(&code), NULL),
        RAPAHUB_EAPPLICATION);
    whole_assert_application(code, "fail_silently returned -28 (no space left)");
    whole_close(&whole);
}

/* It would send who reads it to the wrong place. */
static void the_text_of_another_failure_is_not_passed_on(void **state)
{
    const int32_t code = -5;
    struct rapahub_string text = rapahub_string_of("of an earlier call");
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(
        whole_run_method(&whole, 1, "fail_elsewhere(i32) -> void", WHOLE_ARGUMENTS(&code), NULL),
        RAPAHUB_EAPPLICATION);
    whole_assert_application(code, "fail_elsewhere returned -5");
    assert_int_equal(whole_run_method(&whole, 1, "fail(i32, string) -> void",
                                      WHOLE_ARGUMENTS(&code, &text), NULL),
                     RAPAHUB_EAPPLICATION);
    assert_int_equal(
        whole_run_method(&whole, 1, "fail_silently(i32) -> void", WHOLE_ARGUMENTS(&code), NULL),
        RAPAHUB_EAPPLICATION);
    whole_assert_application(code, "fail_silently returned -5");
    whole_close(&whole);
}

/* r[verify call.error.unknown-method] */
static void an_unknown_method_is_told_and_nothing_ends(void **state)
{
    const int64_t a = 1, b = 2;
    struct whole whole;
    int64_t sum = 0;

    (void)state;
    whole_open(&whole);
    assert_int_equal(whole_run_method(&whole, 1, "add(i64) -> i64", WHOLE_ARGUMENTS(&a), &sum),
                     RAPAHUB_ENOMETHOD);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_READY,
                                WHOLE_ARGUMENTS(&(struct hub_ready){.name = {"x", 1}}), NULL),
                     RAPAHUB_ENOMETHOD); /* a message of guests to hosts */
    assert_int_equal(
        whole_run_method(&whole, 1, "add(i64, i64) -> i64", WHOLE_ARGUMENTS(&a, &b), &sum), 0);
    whole_close(&whole);
}

static int ask_with(struct whole *whole, const char *method,
                    const struct rapahub_type *const *types, const void *const *values)
{
    const struct whole_call call = {.method_id = hub_signature_hash(method),
                                    .container = 1,
                                    .types = types,
                                    .arguments = values};

    return whole_ask(whole, &call, NULL);
}

/* r[verify call.error.invalid-payload] */
static void wrong_arguments_are_told_and_nothing_runs(void **state)
{
    static const struct rapahub_type *const one[] = {&rapahub_type_void, &rapahub_type_i64, NULL};
    static const struct rapahub_type *const two[] = {&rapahub_type_void, &rapahub_type_i64,
                                                     &rapahub_type_i64, NULL};
    static const struct rapahub_type *const byte[] = {&rapahub_type_void, &rapahub_type_u8, NULL};
    const int64_t number = 1;
    const uint8_t open_varint = 0xff;
    struct whole whole;
    int64_t total = -1;

    (void)state;
    whole_open(&whole);
    assert_int_equal(ask_with(&whole, "add(i64, i64) -> i64", one, WHOLE_ARGUMENTS(&number)),
                     RAPAHUB_EARGUMENTS);
    assert_int_equal(ask_with(&whole, "bump(i64) -> i64", two, WHOLE_ARGUMENTS(&number, &number)),
                     RAPAHUB_EARGUMENTS);
    assert_int_equal(ask_with(&whole, "bump(i64) -> i64", byte, WHOLE_ARGUMENTS(&open_varint)),
                     RAPAHUB_EARGUMENTS);
    assert_int_equal(
        whole_run_method(&whole, 1, "bump(i64) -> i64", WHOLE_ARGUMENTS(&(int64_t){0}), &total), 0);
    assert_int_equal(total, 0);
    whole_close(&whole);
}

static void a_result_that_is_no_text_is_an_error_of_the_method(void **state)
{
    struct rapahub_string text;
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(
        whole_run_method(&whole, 1, "broken() -> string", WHOLE_ARGUMENTS(NULL), &text),
        RAPAHUB_EAPPLICATION);
    whole_assert_application(RAPAHUB_EINVAL, "broken returned a string that is not UTF-8");
    whole_close(&whole);
}

/* r[verify hub.call.fault] r[verify flow.call.payload-limit] */
static void a_result_larger_than_a_message_is_told_and_the_largest_is_not(void **state)
{
    const uint32_t head = 5; /* metadata, kind, and three bytes of length */
    uint32_t size = hosted_limits().payload_max - head;
    struct rapahub_bytes bytes = {NULL, 0};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(
        whole_run_method(&whole, 1, "large(u32) -> bytes", WHOLE_ARGUMENTS(&size), &bytes), 0);
    assert_int_equal(bytes.size, size);
    assert_int_equal(((const char *)bytes.data)[size - 1], 'x');
    for (uint32_t more = 1; more < 8; more++) {
        uint32_t larger = size + more;

        assert_int_equal(
            whole_run_method(&whole, 1, "large(u32) -> bytes", WHOLE_ARGUMENTS(&larger), &bytes),
            -EMSGSIZE);
    }
    whole_close(&whole);
}

/* ---- containers ---- */

static void each_container_has_its_own_state_and_the_first_needs_no_name(void **state)
{
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(whole_begin_container(&whole, 2), 0);
    assert_int_equal(whole_bump(&whole, 1, 10), 10);
    assert_int_equal(whole_bump(&whole, 2, 3), 3);
    assert_int_equal(whole_bump(&whole, 0, 1), 11);
    assert_int_equal(whole_bump(&whole, 2, 1), 4);
    whole_close(&whole);
}

static void a_container_that_is_not_there_has_no_methods(void **state)
{
    struct whole whole;
    int64_t total;

    (void)state;
    whole_open(&whole);
    assert_int_equal(
        whole_run_method(&whole, 9, "bump(i64) -> i64", WHOLE_ARGUMENTS(&(int64_t){1}), &total),
        RAPAHUB_ENOMETHOD);
    whole_close(&whole);
}

/* ---- several at once ---- */

/* r[verify call.pipelining.allowed] r[verify call.lifecycle.single-response] */
static void calls_sent_one_behind_the_other_are_each_answered_once(void **state)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_i64, &rapahub_type_i64, NULL};
    const int64_t one = 1;
    const struct whole_call call = {.method_id = hub_signature_hash("bump(i64) -> i64"),
                                    .container = 1,
                                    .types = types,
                                    .arguments = WHOLE_ARGUMENTS(&one)};
    struct whole_operation operations[CALLS];
    struct whole whole;

    (void)state;
    whole_open(&whole);
    for (int i = 0; i < CALLS; i++)
        whole_begin(&whole, &call, &operations[i]);
    for (int i = CALLS; i-- > 0;) {
        int64_t total = 0;

        assert_int_equal(whole_finish(&whole, &operations[i], &total), 0);
        assert_int_equal(total, i + 1); /* they ran in the order they were sent */
    }
    assert_int_equal(whole_bump(&whole, 1, 0), CALLS);
    assert_int_equal(hub_calls_late(whole_host(&whole)->connection.calls), 0);
    whole_close(&whole);
}

/* ---- cancel ---- */

/* The method says that it runs. */
static int hear(struct whole *whole, const struct hub_request *request, struct hub_writer *result)
{
    (void)result;
    assert_int_equal(request->method_id, hub_signature_hash("here() -> void"));
    hub_publish(whole->user, 1);
    return 0;
}

/* Until the guest has received all that was sent to it. */
static void await_quiet(struct whole *whole)
{
    uint64_t deadline = hub_clock_after(SOON);

    while (!hub_link_quiet(whole_host(whole)->connection.link) && hub_clock_left(deadline) != 0)
        whole_turn(whole);
}

/* r[verify call.cancel.message] r[verify core.call.cancel] */
static void a_running_method_sees_that_it_was_cancelled(void **state)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_void, NULL};
    const struct whole_call call = {.method_id = hub_signature_hash("until_cancelled() -> void"),
                                    .container = 1,
                                    .types = types,
                                    .arguments = WHOLE_ARGUMENTS(NULL)};
    struct whole_operation operation;
    struct hub_a32 runs = {0};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    whole.on_call = hear;
    whole.user = &runs;
    whole_begin(&whole, &call, &operation);
    assert_true(whole_until(&whole, &runs));
    await_quiet(&whole); /* no wait of the guest's receives the Cancel by the way */
    hub_calls_cancel(whole_host(&whole)->connection.calls, operation.number);
    assert_int_equal(whole_finish(&whole, &operation, NULL), -ECANCELED);
    assert_int_equal(whole_bump(&whole, 1, 1), 1); /* it has returned */
    whole_close(&whole);
}

/* The answer has no receiver, and would keep the guest from leaving. */
static void a_running_method_is_cancelled_by_the_hosts_death(void **state)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_void, NULL};
    const struct whole_call call = {.method_id = hub_signature_hash("until_cancelled() -> void"),
                                    .container = 1,
                                    .types = types,
                                    .arguments = WHOLE_ARGUMENTS(NULL)};
    struct whole_operation operation;
    struct hub_a32 runs = {0};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    whole.on_call = hear;
    whole.user = &runs;
    whole_begin(&whole, &call, &operation);
    assert_true(whole_until(&whole, &runs));
    hub_add(&whole_host(&whole)->view.entry->epoch, 1);
    pthread_join(whole.thread, NULL);
    assert_int_equal(whole.status, RAPAHUB_GUEST_ORPHAN);
    hub_link_close(whole_host(&whole)->connection.link, RAPAHUB_EDIED, "");
    assert_int_equal(whole_finish(&whole, &operation, NULL), RAPAHUB_EDIED);
    whole_release(&whole);
}

/* ---- small messages ---- */

/* Messages of 60 bytes, as small as a foreign host may choose: the text of an error must not be
 * written beyond. */
static void in_small_messages_the_text_of_an_error_is_cut(void **state)
{
    const struct hub_limits small = {60, 1024, 1, 16, 64, 16, 4, 0, 0, false};
    const int32_t code = RAPAHUB_EDIED; /* its text is long */
    struct whole whole;
    int64_t sum = 0;
    int r;

    (void)state;
    whole_open_with(&whole, &small);
    for (int i = 0; i < 3; i++) {
        r = whole_run_method(&whole, 1, "fail_elsewhere(i32) -> void", WHOLE_ARGUMENTS(&code),
                             NULL);
        assert_int_equal(r, RAPAHUB_EAPPLICATION);
        whole_assert_application(code, "fail_elsewhere returned -4101");
    }
    r = whole_run_method(&whole, 1, "add(i64, i64) -> i64",
                         WHOLE_ARGUMENTS(&(int64_t){1}, &(int64_t){2}), &sum);
    assert_int_equal(r, 0);
    assert_int_equal(sum, 3);
    whole_close(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_comes_back),
        cmocka_unit_test(a_text_made_for_the_answer_comes_back),
        cmocka_unit_test(an_error_comes_back_with_code_and_text),
        cmocka_unit_test(an_error_without_a_text_names_method_and_code),
        cmocka_unit_test(the_text_of_another_failure_is_not_passed_on),
        cmocka_unit_test(an_unknown_method_is_told_and_nothing_ends),
        cmocka_unit_test(wrong_arguments_are_told_and_nothing_runs),
        cmocka_unit_test(a_result_that_is_no_text_is_an_error_of_the_method),
        cmocka_unit_test(a_result_larger_than_a_message_is_told_and_the_largest_is_not),
        cmocka_unit_test(each_container_has_its_own_state_and_the_first_needs_no_name),
        cmocka_unit_test(a_container_that_is_not_there_has_no_methods),
        cmocka_unit_test(calls_sent_one_behind_the_other_are_each_answered_once),
        cmocka_unit_test(a_running_method_sees_that_it_was_cancelled),
        cmocka_unit_test(a_running_method_is_cancelled_by_the_hosts_death),
        cmocka_unit_test(in_small_messages_the_text_of_an_error_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

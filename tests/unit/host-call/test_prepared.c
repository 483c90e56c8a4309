/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>
#include <rapahub/method.h>

#include "host/call/prepared.h"
#include "tests/unit/host-call/floor.h"

#define METHODS                   \
    "add(i64, i64) -> i64\n"      \
    "put(bytes) -> void\n"        \
    "tell(u32, bytes) -> bytes\n" \
    "say(string) -> void\n"
#define BIG 6000

static const int64_t two = 2, three = 3;
static const void *const numbers[] = {&two, &three, NULL};
static const struct rapahub_type *const add_types[] = {&rapahub_type_i64, &rapahub_type_i64,
                                                       &rapahub_type_i64, NULL};
static const char big[BIG];

struct rig {
    struct stage *stage;
    struct host_route route;
    struct host_prepared prepared;
};

static struct rig *open_rig(void)
{
    struct rig *rig = test_calloc(1, sizeof *rig);

    rig->stage = floor_open();
    floor_methods(rig->stage, METHODS);
    rig->stage->host.process.options.limits.payload_max = 3 * BIG;
    assert_int_equal(host_route_find(&rig->stage->host, stage_here, &rig->route), 0);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_route_drop(&rig->route);
    floor_close(rig->stage);
    test_free(rig);
}

static int prepare(struct rig *rig, const struct rapahub_call *call, bool waits)
{
    return host_prepared_make(&rig->stage->host, call, &rig->route, waits, &rig->prepared);
}

static int prepare_once(struct rig *rig, const struct rapahub_call *call)
{
    int r = prepare(rig, call, true);

    host_prepared_release(&rig->prepared);
    return r;
}

static void a_whole_signature_says_method_types_and_result(void **state)
{
    const struct rapahub_call call = {.method = "add(i64, i64) -> i64", .arguments = numbers};
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(prepare(rig, &call, true), 0);
    assert_string_equal(rig->prepared.name, "add");
    assert_true(rig->prepared.method_id == host_methods_of_name(rig->route.methods, "add")->id);
    assert_int_equal(rig->prepared.result->kind, rapahub_type_i64.kind);
    assert_int_equal(rig->prepared.arguments.size, 2);
    assert_memory_equal(rig->prepared.arguments.data, "\4\6", 2);
    host_prepared_release(&rig->prepared);
    host_prepared_release(&rig->prepared);
    close_rig(rig);
}

/* r[verify hub.call.memory] */
static void a_guest_never_says_how_the_memory_of_its_caller_is_read(void **state)
{
    const struct rapahub_call call = {.method = "add", .arguments = numbers};
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "hub.call.memory");
    assert_non_null(strstr(rapahub_last_error()->text, "add(i64, i64) -> i64"));
    close_rig(rig);
}

static void a_method_that_the_guest_does_not_have_is_not_sent(void **state)
{
    struct rapahub_call call = {.method = "sub(i64, i64) -> i64", .arguments = numbers};
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_ENOMETHOD);
    call.method = "add(u32, u32) -> i64";
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EARGUMENTS);
    call.method = NULL;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EINVAL);
    host_methods_release(&rig->route.methods); /* it was never ready, and decides itself */
    call.method = "sub(i64, i64) -> i64";
    assert_int_equal(prepare_once(rig, &call), 0);
    close_rig(rig);
}

/* The second call of a stub computes no hash. */
static void the_id_of_a_method_is_kept_once_the_guest_is_known_to_have_it(void **state)
{
    uint64_t kept = 0;
    struct rapahub_call call = {
        .method = "sub", .types = add_types, .arguments = numbers, .method_id = &kept};
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_ENOMETHOD);
    assert_true(kept == 0);
    call.method = "add";
    assert_int_equal(prepare_once(rig, &call), 0);
    assert_true(kept == host_methods_of_name(rig->route.methods, "add")->id);
    kept = 99;
    assert_int_equal(prepare(rig, &call, true), 0);
    assert_true(rig->prepared.method_id == 99);
    host_prepared_release(&rig->prepared);
    close_rig(rig);
}

static void a_name_that_is_too_long_for_a_method_is_refused(void **state)
{
    char name[RAPAHUB_METHOD_NAME_MAX + 3];
    const struct rapahub_call call = {.method = name, .types = add_types, .arguments = numbers};
    struct rig *rig = open_rig();

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EINVAL);
    close_rig(rig);
}

static void arguments_that_the_types_do_not_count_are_refused(void **state)
{
    const void *const one[] = {&two, NULL};
    const struct rapahub_string bad = {"\xff", 1};
    const void *const words[] = {&bad, NULL};
    struct rapahub_call call = {.method = "add(i64, i64) -> i64", .arguments = one};
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EARGUMENTS);
    call.arguments = NULL;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EARGUMENTS);
    call.method = "say(string) -> void";
    call.arguments = words;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EARGUMENTS);
    close_rig(rig);
}

static void an_argument_that_no_message_carries_is_named_with_both_sizes(void **state)
{
    const struct rapahub_bytes bytes = {big, BIG};
    const void *const arguments[] = {&bytes, NULL};
    const struct rapahub_call call = {.method = "put(bytes) -> void", .arguments = arguments};
    struct rig *rig = open_rig();

    (void)state;
    rig->stage->host.process.options.limits.payload_max = BIG - 1;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EMSGSIZE);
    assert_string_equal(rapahub_last_error()->text,
                        "argument of 6,000 bytes; a message of this hub carries 5,999 bytes");
    close_rig(rig);
}

/* r[verify hub.bytes.align] */
static void large_bytes_are_not_copied_for_a_caller_that_waits(void **state)
{
    const struct rapahub_bytes bytes = {big, BIG};
    const uint32_t number = 7;
    const void *const arguments[] = {&number, &bytes, NULL};
    const struct rapahub_call call = {.method = "tell(u32, bytes) -> bytes",
                                      .arguments = arguments};
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(prepare(rig, &call, true), 0);
    assert_ptr_equal(rig->prepared.apart.data, big);
    assert_int_equal(rig->prepared.apart.size, BIG);
    assert_int_equal(rig->prepared.arguments.size, 3); /* the number, and the length */
    host_prepared_release(&rig->prepared);
    assert_int_equal(prepare(rig, &call, false), 0);
    assert_null(rig->prepared.apart.data);
    assert_int_equal(rig->prepared.arguments.size, 3 + BIG);
    assert_int_equal(rig->prepared.aligned, BIG);
    host_prepared_release(&rig->prepared);
    close_rig(rig);
}

/* A call that is made while this one waits frees them. */
static void bytes_of_an_earlier_result_are_copied(void **state)
{
    struct rapahub_bytes bytes;
    const void *const arguments[] = {&bytes, NULL};
    const struct rapahub_call call = {.method = "put(bytes) -> void", .arguments = arguments};
    struct rig *rig = open_rig();
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(&rig->stage->host)->callers);
    struct hub_answer answer = {0};

    (void)state;
    assert_true(hub_responses_reserve(&answer, BIG, 0));
    memset(answer.data, 0, BIG);
    answer.size = BIG;
    bytes = (struct rapahub_bytes){answer.data, BIG};
    host_caller_show(caller, &answer);
    assert_int_equal(prepare(rig, &call, true), 0);
    assert_null(rig->prepared.apart.data);
    assert_int_equal(rig->prepared.arguments.size, 2 + BIG);
    host_prepared_release(&rig->prepared);
    close_rig(rig);
}

/* r[verify hub.loan.align] */
static void a_loan_is_the_last_argument_and_its_bytes_stay_where_they_are(void **state)
{
    struct rapahub_loan loan;
    struct rapahub_bytes bytes;
    const void *const arguments[] = {&bytes, NULL};
    struct rapahub_call call = {
        .method = "put(bytes) -> void", .arguments = arguments, .loan = &loan};
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(host_loans_take(&rig->stage->host, stage_here, 100, &loan), 0);
    bytes = (struct rapahub_bytes){loan.data, 100};
    assert_int_equal(prepare(rig, &call, true), 0);
    assert_ptr_equal(rig->prepared.loan->data, loan.data);
    assert_ptr_equal(rig->prepared.apart.data, loan.data);
    assert_int_equal(rig->prepared.arguments.size, 1); /* the length */
    host_prepared_release(&rig->prepared);
    bytes.data = (const char *)loan.data + 1;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EINVAL);
    call.method = "add(i64, i64) -> i64";
    call.arguments = numbers;
    assert_int_equal(prepare_once(rig, &call), RAPAHUB_EARGUMENTS);
    host_loans_drop(&rig->stage->host, &loan);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_signature_says_method_types_and_result),
        cmocka_unit_test(a_guest_never_says_how_the_memory_of_its_caller_is_read),
        cmocka_unit_test(a_method_that_the_guest_does_not_have_is_not_sent),
        cmocka_unit_test(the_id_of_a_method_is_kept_once_the_guest_is_known_to_have_it),
        cmocka_unit_test(a_name_that_is_too_long_for_a_method_is_refused),
        cmocka_unit_test(arguments_that_the_types_do_not_count_are_refused),
        cmocka_unit_test(an_argument_that_no_message_carries_is_named_with_both_sizes),
        cmocka_unit_test(large_bytes_are_not_copied_for_a_caller_that_waits),
        cmocka_unit_test(bytes_of_an_earlier_result_are_copied),
        cmocka_unit_test(a_loan_is_the_last_argument_and_its_bytes_stay_where_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

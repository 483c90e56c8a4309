/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>
#include <rapahub/method.h>

#include "host/call/async_call.h"
#include "host/call/cached_call.h"
#include "tests/unit/host-call/floor.h"

#define LARGE 900

static const struct rapahub_type *const next_types[] = {&rapahub_type_u32, &rapahub_type_u32, NULL};
static const uint32_t seven = 7;
static const void *const of_seven[] = {&seven, NULL};

/* What the embedder was told of its calls. */
static struct {
    unsigned count;
    int code;
    bool has_result;
    uint32_t number, callbacks;
    struct stage *stage;
} told;

static void on_done(void *user, int code, const void *result)
{
    assert_ptr_equal(user, &told);
    told.count++;
    told.code = code;
    told.has_result = result != NULL;
    told.callbacks = told.stage->host.process.owner.callbacks;
    if (result)
        memcpy(&told.number, result, sizeof told.number);
}

static struct stage *open_calls(void)
{
    struct stage *stage = floor_open();

    memset(&told, 0, sizeof told);
    told.stage = stage;
    floor_methods(stage, "next(u32) -> u32\n"
                         "put(bytes) -> void\n");
    return stage;
}

static int begin(struct stage *stage, const struct rapahub_call *call, struct host_async_begun *out)
{
    const struct host_async_call_order order = {call, on_done, &told};
    struct host_async_begun ignored;

    return host_async_call_begin(&stage->host, &order, out ? out : &ignored);
}

static struct rapahub_call next_call(void)
{
    return (struct rapahub_call){
        .target = stage_here, .method = "next(u32) -> u32", .arguments = of_seven};
}

static void answer(struct stage *stage, const char *body, size_t size)
{
    floor_answer(stage, floor_next(stage), body, size);
    floor_receive(stage);
}

static void the_result_is_decoded_and_told_once_in_a_callback(void **state)
{
    struct stage *stage = open_calls();
    struct rapahub_call call = next_call();

    (void)state;
    assert_int_equal(begin(stage, &call, NULL), 0);
    assert_int_equal(told.count, 0);
    answer(stage, "\x08", 1);
    assert_true(told.count == 1 && told.code == 0 && told.has_result);
    assert_int_equal(told.number, 8);
    assert_int_equal(told.callbacks, 1);
    assert_int_equal(stage->host.process.owner.callbacks, 0);
    floor_close(stage);
}

/* They are sent to where this thread's last call went. */
static void later_calls_of_a_stub_end_like_the_first(void **state)
{
    struct stage *stage = open_calls();
    uint64_t id = 0;
    struct rapahub_call call = {.target = stage_here,
                                .method = "next",
                                .types = next_types,
                                .arguments = of_seven,
                                .method_id = &id};

    (void)state;
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(begin(stage, &call, NULL), 0);
        assert_true(id != 0);
        answer(stage, "\x08", 1);
        assert_true(told.count == i && told.code == 0);
        assert_int_equal(told.number, 8);
        assert_int_equal(host_containers_users(stage->container), 0);
    }
    floor_close(stage);
}

/* A guest chooses the number of a chain that begins with it. */
static void a_call_in_a_chain_of_any_number_is_left_to_the_general_path(void **state)
{
    struct stage *stage = open_calls();
    const struct host_caller caller = {.handle = 0};
    const struct rapahub_call call = {.types = next_types, .arguments = of_seven};
    uint8_t room[16];
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, room, sizeof room);
    stage->host.chain.value = 1;
    assert_int_equal(host_cached_call_encode(&stage->host, &caller, &call, &writer), -EAGAIN);
    stage->host.chain.value = 0;
    assert_int_equal(host_cached_call_encode(&stage->host, &caller, &call, &writer), 0);
    assert_int_equal(writer.size, 2);
    floor_close(stage);
}

static void *begin_twice(void *user)
{
    uint64_t id = 0;
    const struct rapahub_call call = {.target = stage_here,
                                      .method = "next",
                                      .types = next_types,
                                      .arguments = of_seven,
                                      .method_id = &id};

    return begin(user, &call, NULL) == 0 && begin(user, &call, NULL) == 0 ? user : NULL;
}

/* As long as they are open their container stays. */
static void calls_of_another_thread_are_counted_at_their_container(void **state)
{
    struct stage *stage = open_calls();
    pthread_t thread;
    void *begun;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, begin_twice, stage), 0);
    pthread_join(thread, &begun);
    assert_ptr_equal(begun, stage);
    (void)host_asyncs_serve(&stage->host);
    assert_int_equal(host_containers_users(stage->container), 2);
    answer(stage, "\x08", 1);
    assert_int_equal(host_containers_users(stage->container), 1);
    answer(stage, "\x08", 1);
    assert_int_equal(host_containers_users(stage->container), 0);
    assert_int_equal(told.count, 2);
    floor_close(stage);
}

/* The caller may release them as soon as the call has begun. */
static void arguments_are_copied_whether_or_not_the_call_can_be_sent(void **state)
{
    struct stage *stage = open_calls();
    char bytes[LARGE];
    struct rapahub_bytes argument = {bytes, LARGE};
    const void *arguments[] = {&argument, NULL};
    struct rapahub_call call = {
        .target = stage_here, .method = "put(bytes) -> void", .arguments = arguments};
    struct hub_request *request;

    (void)state;
    memset(bytes, 'a', LARGE);
    stage->guest.state = HOST_GUEST_STARTING;
    stage->look = -EAGAIN;
    assert_int_equal(begin(stage, &call, NULL), 0);
    memset(bytes, 'x', LARGE);
    assert_int_equal(begin(stage, &call, NULL), 0); /* by the same buffer of this thread */
    arguments[0] = NULL;
    stage->guest.state = HOST_GUEST_READY;
    assert_int_equal(host_asyncs_serve(&stage->host), 2);
    request = floor_next(stage);
    assert_int_equal(request->arguments.size, LARGE + 2);
    for (size_t i = 2; i < request->arguments.size; i++)
        assert_int_equal(((const char *)request->arguments.data)[i], 'a');
    floor_answer(stage, request, "", 0);
    floor_answer(stage, floor_next(stage), "", 0);
    floor_receive(stage);
    assert_true(told.count == 2 && told.code == 0 && !told.has_result); /* void */
    floor_close(stage);
}

static void a_call_that_cannot_begin_is_told_to_nobody(void **state)
{
    struct stage *stage = open_calls();
    struct rapahub_call call = next_call();
    struct rapahub_loan loan = {.data = NULL};

    (void)state;
    call.method = "none(u32) -> u32";
    assert_int_equal(begin(stage, &call, NULL), RAPAHUB_ENOMETHOD);
    call = next_call();
    call.loan = &loan;
    assert_int_equal(begin(stage, &call, NULL), RAPAHUB_EINVAL);
    call = next_call();
    call.target = floor_service;
    assert_int_equal(begin(stage, &call, NULL), RAPAHUB_ENOENT);
    call = next_call();
    call.arguments = NULL;
    assert_int_equal(begin(stage, &call, NULL), RAPAHUB_EARGUMENTS);
    assert_null(floor_next(stage));
    assert_int_equal(told.count, 0);
    floor_close(stage);
}

/* r[verify hub.host.fork] */
static void a_forked_child_begins_no_calls(void **state)
{
    struct stage *stage = open_calls();
    struct host_callers *callers = &HOST_REGISTRY(&stage->host)->callers;
    struct rapahub_call call = next_call();
    uint64_t number = callers->number;

    (void)state;
    callers->number = 0;
    assert_int_equal(begin(stage, &call, NULL), RAPAHUB_ESTATE);
    callers->number = number;
    assert_null(floor_next(stage));
    floor_close(stage);
}

/* r[verify sec.call.time] */
static void a_call_ends_at_its_time_or_that_of_the_host(void **state)
{
    struct stage *stage = open_calls();
    struct rapahub_call call = next_call();
    struct host_async_begun begun;
    uint64_t deadline = hub_clock_after(SOON);

    (void)state;
    assert_int_equal(begin(stage, &call, &begun), 0);
    assert_in_range(hub_clock_left(begun.deadline_ns), SOON / 2, SOON + HUB_SECOND);
    answer(stage, "\x08", 1);
    call.timeout_ns = HUB_MILLISECOND;
    assert_int_equal(begin(stage, &call, &begun), 0);
    assert_true(hub_clock_left(begun.deadline_ns) < HUB_SECOND);
    while (told.count == 1 && hub_clock_left(deadline) > 0)
        floor_receive(stage);
    assert_true(told.count == 2 && told.code == RAPAHUB_ETIMEDOUT && !told.has_result);
    floor_close(stage);
}

static void a_malformed_answer_is_no_result(void **state)
{
    struct stage *stage = open_calls();
    struct rapahub_call call = next_call();

    (void)state;
    assert_int_equal(begin(stage, &call, NULL), 0);
    answer(stage, "\x08\x08", 2);
    assert_true(told.count == 1 && told.code == RAPAHUB_EPROTOCOL && !told.has_result);
    floor_close(stage);
}

static void the_number_of_a_call_cancels_it(void **state)
{
    struct stage *stage = open_calls();
    struct rapahub_call call = next_call();
    struct host_async_begun begun;
    struct hub_request *request;

    (void)state;
    assert_int_equal(begin(stage, &call, &begun), 0);
    request = floor_next(stage);
    host_asyncs_cancel(&stage->host, begun.number);
    assert_true(hub_link_sweep(stage->pair.guest.connection.link, UINT32_MAX) >= 0);
    assert_true(hub_request_is_cancelled(request));
    floor_answer(stage, request, "\x08", 1);
    floor_receive(stage);
    assert_int_equal(told.count, 1);
    floor_close(stage);
}

/* A call that overtook them would reach its container before them. */
static void a_call_does_not_overtake_those_that_wait(void **state)
{
    struct stage *stage = open_calls();
    uint64_t id = 0;
    struct rapahub_call call = {.target = stage_here,
                                .method = "next",
                                .types = next_types,
                                .arguments = of_seven,
                                .method_id = &id};
    unsigned count = 0;

    (void)state;
    assert_int_equal(begin(stage, &call, NULL), 0);
    answer(stage, "\x08", 1);
    for (; hub_load_relaxed(&stage->host.asyncs.waiting) == 0; count++)
        assert_int_equal(begin(stage, &call, NULL), 0);
    while (count-- > 1)
        floor_answer(stage, floor_next(stage), "\x08", 1);
    floor_receive(stage);
    assert_int_equal(begin(stage, &call, NULL), 0); /* there is space again */
    assert_null(floor_next(stage));
    assert_int_equal(hub_load_relaxed(&stage->host.asyncs.waiting), 2);
    assert_int_equal(host_asyncs_serve(&stage->host), 2);
    answer(stage, "\x08", 1);
    answer(stage, "\x08", 1);
    assert_int_equal(told.code, 0);
    floor_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_result_is_decoded_and_told_once_in_a_callback),
        cmocka_unit_test(later_calls_of_a_stub_end_like_the_first),
        cmocka_unit_test(a_call_in_a_chain_of_any_number_is_left_to_the_general_path),
        cmocka_unit_test(calls_of_another_thread_are_counted_at_their_container),
        cmocka_unit_test(arguments_are_copied_whether_or_not_the_call_can_be_sent),
        cmocka_unit_test(a_call_that_cannot_begin_is_told_to_nobody),
        cmocka_unit_test(a_forked_child_begins_no_calls),
        cmocka_unit_test(a_call_ends_at_its_time_or_that_of_the_host),
        cmocka_unit_test(a_malformed_answer_is_no_result),
        cmocka_unit_test(the_number_of_a_call_cancels_it),
        cmocka_unit_test(a_call_does_not_overtake_those_that_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* calls: both ends as threads. */

#include "hub/call/call_ends.h"
#include "hub/call/call_table.h"
#include "hub/call/responses.h"
#include "tests/support/pause.h"
#include "tests/unit/link/pair.h"

static struct pair *open_echo(pthread_t *thread, uint32_t first_index)
{
    struct pair *pair = test_malloc(sizeof *pair);
    const struct hub_limits limits = pair_limits();

    pair_open(pair, &limits, first_index);
    assert_int_equal(pthread_create(thread, NULL, pair_echo, &pair->guest), 0);
    return pair;
}

static void close_echo(struct pair *pair, pthread_t thread)
{
    hub_publish(&pair->host.view.header->host_goodbye, 1);
    hub_link_close(pair->guest.connection.link, RAPAHUB_ECLOSED, "");
    pthread_join(thread, NULL);
    pair_close(pair);
    test_free(pair);
}

/* r[verify call.initiate] r[verify call.complete] r[verify core.call] *
 * r[verify shm.topology.hub.calls] r[verify call.response.encoding]
 * r[verify core.call.request-id] r[verify shm.id.request-id] */
static void calls_of_all_sizes_come_back(void **state)
{
    static const uint32_t sizes[] = {0,  1,  29,  30,  31,  32,  33,   63,
                                     64, 65, 100, 255, 257, 512, 1000, 1018};
    pthread_t thread;
    struct pair *pair = open_echo(&thread, 0);

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(pair_call(&pair->host, (uint8_t)(i + 1), sizes[i], hub_clock_after(SOON)),
                         0);
    assert_int_equal(hub_calls_open(pair->host.connection.calls), 0);
    assert_int_equal(hub_calls_answered(pair->host.connection.calls), sizeof sizes / sizeof *sizes);
    close_echo(pair, thread);
}

/* r[verify hub.ring.indices] r[verify shm.ring.capacity] */
static void indices_run_over_2_to_the_32(void **state)
{
    pthread_t thread;
    struct pair *pair = open_echo(&thread, 0xfffffff0);

    (void)state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(pair_call(&pair->host, (uint8_t)i, (uint32_t)i * 5, hub_clock_after(SOON)),
                         0);
    assert_true(hub_load_relaxed(&pair->host.view.entry->host_to_guest_head) < 0xfffffff0);
    assert_true(hub_load_relaxed(&pair->host.view.entry->guest_to_host_head) < 0xfffffff0);
    close_echo(pair, thread);
}

struct caller {
    struct end *end;
    int failures, seed;
};

static void *call_often(void *user)
{
    struct caller *caller = user;

    for (int i = 0; i < 400; i++)
        caller->failures +=
            pair_call(caller->end, (uint8_t)(caller->seed + i),
                      (uint32_t)(i * 37 + caller->seed) % 1000, hub_clock_after(SOON)) != 0;
    return NULL;
}

/* r[verify call.lifecycle.ordering] r[verify call.pipelining.allowed]
 * r[verify call.request-id.uniqueness] r[verify hub.ring.no-drop] */
static void eight_threads_call_through_one_link(void **state)
{
    struct caller callers[8];
    pthread_t thread, threads[8];
    struct pair *pair = open_echo(&thread, 0);

    (void)state;
    for (int i = 0; i < 8; i++) {
        callers[i] = (struct caller){&pair->host, 0, i * 13};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].failures, 0);
    }
    assert_int_equal(hub_calls_answered(pair->host.connection.calls), 8 * 400);
    close_echo(pair, thread);
}

/* r[verify hub.call.once] r[verify core.call.cancel] r[verify call.cancel.no-response-required] */
static void a_call_nobody_answers_ends_at_its_deadline_and_keeps_its_id(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(pair_call(&pair.host, 1, 4, hub_clock_after(5 * HUB_MILLISECOND)), -ETIMEDOUT);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 1);   /* the id stays reserved */
    (void)hub_link_sweep(pair.guest.connection.link, 8);               /* Request and Cancel */
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 1); /* its late Response */
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    assert_int_equal(hub_calls_late(pair.host.connection.calls), 1);
    pair_close(&pair);
}

static void note_code(void *user, int code, struct hub_answer *answer)
{
    int *codes = user;

    codes[0]++;
    codes[1] = code;
    codes[2] = (int)answer->size;
}

static uint64_t begin_async(struct end *end, int *codes, uint64_t span)
{
    static const uint8_t payload[] = {0, 7};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {payload, sizeof payload}},
                                  .deadline_ns = hub_clock_after(span),
                                  .done = note_code,
                                  .user = codes};
    uint64_t number = 0;

    assert_int_equal(hub_calls_begin(end->connection.calls, &call, &number), 0);
    return number;
}

static void answer_all(struct end *end)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_request *request;

    (void)hub_link_sweep(end->connection.link, 64);
    while ((request = hub_inbound_calls_next(end->connection.served, NULL, NULL)))
        assert_int_equal(
            hub_inbound_calls_answer(end->connection.served, request, &ok, request->arguments), 0);
}

static void a_call_that_is_not_waited_for_is_told_once(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[3] = {0, 0, 0};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    begin_async(&pair.host, codes, SOON);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 0);
    answer_all(&pair.guest);
    (void)hub_link_sweep(pair.host.connection.link, 64);
    assert_int_equal(hub_load_relaxed(&pair.host.ready), 1);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 1);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 0);
    assert_int_equal(codes[0], 1);
    assert_int_equal(codes[1], 0);
    assert_int_equal(codes[2], 3); /* metadata, Ok, 7 */
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    pair_close(&pair);
}

/* r[verify call.request-id.in-flight] */
static void an_expired_call_is_told_and_its_late_answer_frees_the_id(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[3] = {0, 0, 0};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    begin_async(&pair.host, codes, 0);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 1);
    assert_int_equal(codes[1], -ETIMEDOUT);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 1);
    answer_all(&pair.guest);
    (void)hub_link_sweep(pair.host.connection.link, 64);
    assert_int_equal(codes[0], 1);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    pair_close(&pair);
}

/* r[verify call.request-id.cancel-still-in-flight] r[verify call.cancel.best-effort] */
static void a_cancelled_call_that_has_not_run_is_answered_cancelled(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[3] = {0, 0, 0};
    struct pair pair;
    uint64_t number;

    (void)state;
    pair_open(&pair, &limits, 0);
    number = begin_async(&pair.host, codes, SOON);
    hub_calls_cancel(pair.host.connection.calls, number);
    hub_calls_cancel(pair.host.connection.calls, number); /* twice is once */
    (void)hub_link_sweep(pair.guest.connection.link, 64);
    assert_null(hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL));
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 1);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 1);
    assert_int_equal(codes[1], 0);
    assert_int_equal(codes[2], 3); /* 00 01 03: Cancelled */
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 0);
    pair_close(&pair);
}

/* r[verify hub.limits] r[verify hub.call.once] */
static void a_full_table_refuses_and_the_close_ends_every_call_once(void **state)
{
    struct hub_limits limits = pair_limits();
    int codes[3] = {0, 0, 0};
    struct pair pair;
    static const uint8_t payload[] = {0};
    const struct hub_call call = {.payload = {.head = {payload, 1}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .done = note_code,
                                  .user = codes};
    uint64_t number = 0;

    (void)state;
    limits.ring_size = 2048;
    pair_open(&pair, &limits, 0);
    for (int i = 0; i < HUB_CALLS_MAX; i++)
        begin_async(&pair.host, codes, SOON);
    assert_int_equal(hub_calls_begin(pair.host.connection.calls, &call, &number), -EBUSY);
    hub_link_dead(pair.host.connection.link);
    assert_int_equal(hub_load_relaxed(&pair.host.closed), 1);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), HUB_CALLS_MAX);
    assert_int_equal(codes[0], HUB_CALLS_MAX);
    assert_int_equal(codes[1], RAPAHUB_EDIED);
    assert_int_equal(hub_calls_begin(pair.host.connection.calls, &call, &number), RAPAHUB_ESTALE);
    pair_close(&pair);
}

static void what_was_answered_before_the_death_is_a_result(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[2][3] = {{0}, {0}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    begin_async(&pair.host, codes[0], SOON);
    answer_all(&pair.guest);
    begin_async(&pair.host, codes[1], SOON);
    hub_link_dead(pair.host.connection.link);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 2);
    assert_int_equal(codes[0][1], 0);
    assert_int_equal(codes[1][1], RAPAHUB_EDIED);
    pair_close(&pair);
}

static void *call_until_closed(void *user)
{
    struct caller *caller = user;
    int r = 0;

    while (r == 0)
        r = pair_call(caller->end, 1, 40, hub_clock_after(SOON));
    caller->failures = r;
    return NULL;
}

/* r[verify hub.wait.bound] */
static void a_close_ends_waiting_leaders_and_followers(void **state)
{
    struct caller callers[4];
    pthread_t threads[4];
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    uint64_t start;

    (void)state;
    pair_open(&pair, &limits, 0); /* no thread serves */
    for (int i = 0; i < 4; i++) {
        callers[i] = (struct caller){&pair.host, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call_until_closed, &callers[i]), 0);
    }
    while (hub_calls_open(pair.host.connection.calls) < 4)
        ;
    start = hub_clock_now();
    hub_link_close(pair.host.connection.link, RAPAHUB_EDIED, "");
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(callers[i].failures == RAPAHUB_EDIED || callers[i].failures == RAPAHUB_ESTALE);
    }
    assert_true(hub_clock_now() - start < 2 * HUB_SECOND);
    pair_close(&pair);
}

/* r[verify message.goodbye.receive] r[verify hub.goodbye.drain] r[verify shm.goodbye.guest] */
static void a_goodbye_ends_open_calls_behind_what_was_sent_before(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[2][3] = {{0}, {0}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    begin_async(&pair.host, codes[0], SOON);
    answer_all(&pair.guest);
    begin_async(&pair.host, codes[1], SOON);
    hub_link_say_goodbye(pair.guest.connection.link, "", "going home");
    hub_link_leave(pair.guest.connection.link);
    (void)hub_link_sweep(pair.host.connection.link, 64);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 2);
    assert_int_equal(codes[0][1], 0);
    assert_int_equal(codes[1][1], RAPAHUB_ECLOSED);
    assert_string_equal(pair.host.goodbye, "going home");
    assert_int_equal(hub_load_relaxed(&pair.host.view.entry->state), HUB_PEER_GOODBYE);
    pair_close(&pair);
}

/* A call that waits for space in a full ring. */
struct late_call {
    struct end *end;
    struct hub_answer *answer; /* NULL: asynchronous */
    int codes[3];
    uint64_t deadline_ns;
    int r;
    struct hub_a32 over;
};

static void *begin_late(void *user)
{
    static const uint8_t payload[] = {0, 7};
    struct late_call *late = user;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {payload, sizeof payload}},
                                  .deadline_ns = late->deadline_ns,
                                  .answer = late->answer,
                                  .done = late->answer ? NULL : note_code,
                                  .user = late->codes};
    uint64_t number;

    late->r = hub_calls_begin(late->end->connection.calls, &call, &number);
    hub_publish(&late->over, 1);
    hub_futex_wake_private(&late->over);
    return NULL;
}

static void wait_until_open(struct end *end, uint32_t count)
{
    uint64_t soon = hub_clock_after(SOON);

    while (hub_calls_open(end->connection.calls) < count && hub_clock_left(soon) != 0)
        pause_ms(1);
    assert_int_equal(hub_calls_open(end->connection.calls), count);
}

#define NEXT_ID (8U << HUB_CALL_ID_SHIFT | 7) /* id of the eighth call, in the eighth entry */

/* A peer that guesses the next id answers a Request that was never sent: the memory of the answer
 * must stay until it is filled. r[verify hub.call.once] */
static void a_call_that_is_refused_leaves_no_answer_half_written(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[7][3] = {{0}};
    struct hub_answer answer = {0};
    struct late_call late = {.answer = &answer,
                             .deadline_ns = hub_clock_after(500 * HUB_MILLISECOND)};
    struct pair pair;
    pthread_t thread;
    void *to;

    (void)state;
    pair_open(&pair, &limits, 0);
    late.end = &pair.host;
    for (int i = 0; i < 7; i++)
        begin_async(&pair.host, codes[i], SOON);
    assert_int_equal(pthread_create(&thread, NULL, begin_late, &late), 0);
    wait_until_open(&pair.host, 8);
    to = hub_responses_place(pair.host.connection.calls, NEXT_ID, 100, 0); /* a leader copies */
    assert_non_null(to);
    hub_futex_wait_private(&late.over, 0, late.deadline_ns + 150 * HUB_MILLISECOND);
    assert_int_equal(hub_load_relaxed(&late.over), 0); /* it has not given the memory back */
    memset(to, 1, 100);
    hub_responses_accept(pair.host.connection.calls, NEXT_ID, to, 100);
    pthread_join(thread, NULL);
    assert_int_equal(late.r, -ETIMEDOUT);
    hub_responses_fini(&answer);
    pair_close(&pair);
}

/* r[verify hub.wait.bound] */
static void a_deadline_holds_though_another_passed_while_it_was_sent(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[7][3] = {{0}};
    struct late_call late = {.deadline_ns = hub_clock_after(SOON)};
    struct pair pair;
    pthread_t thread;

    (void)state;
    pair_open(&pair, &limits, 0);
    late.end = &pair.host;
    begin_async(&pair.host, codes[0], 1);
    for (int i = 1; i < 7; i++)
        begin_async(&pair.host, codes[i], 10 * SOON);
    assert_int_equal(pthread_create(&thread, NULL, begin_late, &late), 0);
    wait_until_open(&pair.host, 8);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls),
                     1); /* the first has expired */
    (void)hub_link_sweep(pair.guest.connection.link, 64);
    pthread_join(thread, NULL);
    assert_int_equal(late.r, 0);
    assert_true(hub_call_ends_next(pair.host.connection.calls) <= late.deadline_ns);
    pair_close(&pair);
}

static void look_at_open_calls(void *user, const char *reason)
{
    struct end *end = user;

    assert_string_equal(reason, "going home");
    assert_int_equal(hub_load_relaxed(&end->ready), 0); /* no call has ended yet */
    pair_on_goodbye(user, reason);
}

/* Such a call looks for the reason at once, on any thread. */
static void the_reason_of_a_goodbye_is_there_before_calls_end(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[3] = {0};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    pair.host.connection.events.on_goodbye = look_at_open_calls;
    begin_async(&pair.host, codes, SOON);
    hub_link_say_goodbye(pair.guest.connection.link, "", "going home");
    (void)hub_link_sweep(pair.host.connection.link, 64);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 1);
    assert_int_equal(codes[1], RAPAHUB_ECLOSED);
    assert_string_equal(pair.host.goodbye, "going home");
    pair_close(&pair);
}

static void look_that_it_is_not_over(void *user)
{
    assert_false(hub_connection_over(&((struct end *)user)->connection));
    pair_on_ready(user);
}

static void look_that_it_is_over(void *user)
{
    assert_true(hub_connection_over(&((struct end *)user)->connection));
    pair_on_close(user);
}

/* A closed link does not mean that its calls have ended. r[verify supervise.pending] */
static void what_is_closed_is_over_only_behind_the_end_of_its_calls(void **state)
{
    const struct hub_limits limits = pair_limits();
    int codes[3] = {0};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    pair.host.connection.events.on_ready = look_that_it_is_not_over;
    pair.host.connection.events.on_close = look_that_it_is_over;
    begin_async(&pair.host, codes, SOON);
    hub_link_close(pair.host.connection.link, RAPAHUB_EDIED, "");
    assert_int_equal(hub_load_relaxed(&pair.host.closed), 1);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 1);
    assert_int_equal(codes[1], RAPAHUB_EDIED);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_all_sizes_come_back),
        cmocka_unit_test(indices_run_over_2_to_the_32),
        cmocka_unit_test(eight_threads_call_through_one_link),
        cmocka_unit_test(a_call_nobody_answers_ends_at_its_deadline_and_keeps_its_id),
        cmocka_unit_test(a_call_that_is_not_waited_for_is_told_once),
        cmocka_unit_test(an_expired_call_is_told_and_its_late_answer_frees_the_id),
        cmocka_unit_test(a_cancelled_call_that_has_not_run_is_answered_cancelled),
        cmocka_unit_test(a_full_table_refuses_and_the_close_ends_every_call_once),
        cmocka_unit_test(what_was_answered_before_the_death_is_a_result),
        cmocka_unit_test(a_close_ends_waiting_leaders_and_followers),
        cmocka_unit_test(a_goodbye_ends_open_calls_behind_what_was_sent_before),
        cmocka_unit_test(a_call_that_is_refused_leaves_no_answer_half_written),
        cmocka_unit_test(a_deadline_holds_though_another_passed_while_it_was_sent),
        cmocka_unit_test(the_reason_of_a_goodbye_is_there_before_calls_end),
        cmocka_unit_test(what_is_closed_is_over_only_behind_the_end_of_its_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "hub/call/call_ends.h"
#include "hub/call/response_queue.h"
#include "tests/unit/link/pair.h"

static void take_code(void *user, int code, struct hub_answer *answer)
{
    struct hub_response response;
    struct hub_reader reader;

    *(int *)user = code;
    if (code < 0)
        return;
    hub_reader_init(&reader, answer->data, answer->size);
    assert_int_equal(hub_response_decode(&reader, &response), 0);
    if (response.kind != HUB_RESPONSE_OK)
        *(int *)user = hub_response_code(&response, "method");
}

static int begin(struct pair *pair, int *code, uint32_t size)
{
    static const uint8_t zeros[1020];
    const struct hub_call call = {.method_id = 3,
                                  .payload = {.head = {zeros, size}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .done = take_code,
                                  .user = code};
    uint64_t number;

    *code = 1;
    return hub_calls_begin(pair->host.connection.calls, &call, &number);
}

static void collect(struct pair *pair)
{
    (void)hub_link_sweep(pair->host.connection.link, 4096);
    (void)hub_call_ends_deliver(pair->host.connection.calls);
}

/* r[verify hub.call.fault] */
static void a_result_beyond_the_limit_is_answered_as_too_large(void **state)
{
    static const uint8_t bytes[1020];
    const struct hub_limits limits = pair_limits();
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_request *request;
    struct pair pair;
    int code;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(begin(&pair, &code, 1), 0);
    (void)hub_link_sweep(pair.guest.connection.link, 8);
    request = hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL);
    assert_int_equal(hub_inbound_calls_answer(pair.guest.connection.served, request, &ok,
                                              (struct rapahub_bytes){bytes, sizeof bytes}),
                     0);
    collect(&pair);
    assert_int_equal(code, -EMSGSIZE);
    assert_int_equal(begin(&pair, &code, 1), 0);
    (void)hub_link_sweep(pair.guest.connection.link, 8);
    request = hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL);
    assert_int_equal(hub_inbound_calls_answer(pair.guest.connection.served, request, &ok,
                                              (struct rapahub_bytes){bytes, SIZE_MAX}),
                     0);
    collect(&pair);
    assert_int_equal(code, -EMSGSIZE);
    pair_close(&pair);
}

/* r[verify hub.call.fault] r[verify hub.limits] r[verify call.lifecycle.single-response] */
static void more_calls_than_the_table_holds_are_answered_busy(void **state)
{
    struct hub_limits limits = pair_limits();
    struct hub_inbound_calls *small = NULL;
    struct pair pair;
    int codes[5];

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_inbound_calls_create(3, 1 << 20, &small), 0);
    hub_inbound_calls_bind(small, pair.guest.connection.link, pair.guest.connection.channels);
    hub_inbound_calls_release(&pair.guest.connection.served);
    pair.guest.connection.served = small;
    for (int i = 0; i < 5; i++)
        assert_int_equal(begin(&pair, &codes[i], 1), 0);
    (void)hub_link_sweep(pair.guest.connection.link, 64);
    collect(&pair);
    assert_int_equal(codes[0], 1);
    assert_int_equal(codes[2], 1);
    assert_int_equal(codes[3], -EBUSY);
    assert_int_equal(codes[4], -EBUSY);
    assert_int_equal(hub_inbound_calls_open(small), 3);
    pair_close(&pair);
}

static bool is_chained(void *user, const struct hub_request *request)
{
    return request->metadata.chain == *(uint64_t *)user;
}

static void who_serves_may_choose_what_runs_now(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    uint64_t chain = 12;
    int code;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(begin(&pair, &code, 1), 0);
    (void)hub_link_sweep(pair.guest.connection.link, 8);
    assert_null(hub_inbound_calls_next(pair.guest.connection.served, is_chained, &chain));
    chain = 0;
    assert_non_null(hub_inbound_calls_next(pair.guest.connection.served, is_chained, &chain));
    pair_close(&pair);
}

/* r[verify call.metadata.limits] r[verify shm.metadata.limits] r[verify message.decode-error] */
static void metadata_that_cannot_be_read_ends_the_link(void **state)
{
    static const uint8_t bad[] = {1, 3, 'k', 'e', 'y', 9};
    const struct hub_limits limits = pair_limits();
    const struct hub_message message = {HUB_REQUEST, 1, 3};
    const struct hub_parts parts = {.head = {bad, sizeof bad}};
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_link_send(pair.guest.connection.link, &message, &parts, 0), 0);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(pair.host.connection.link), "message.decode-error");
    assert_int_equal(hub_inbound_calls_open(pair.host.connection.served), 0);
    pair_close(&pair);
}

static void what_is_queued_when_the_peer_dies_is_never_run(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_request *running;
    struct pair pair;
    int codes[2];

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(begin(&pair, &codes[0], 1), 0);
    assert_int_equal(begin(&pair, &codes[1], 1), 0);
    (void)hub_link_sweep(pair.guest.connection.link, 8);
    running = hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL);
    hub_link_dead(pair.guest.connection.link);
    assert_true(hub_request_is_cancelled(running));
    assert_null(hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL));
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 1);
    pair_close(&pair);
}

/* Its answer, that it was cancelled, has nobody to go to any more. */
static void what_was_cancelled_in_the_queue_is_forgotten_when_the_peer_dies(void **state)
{
    const uint32_t first_id = UINT32_C(1) << 12;
    const struct hub_limits limits = pair_limits();
    struct hub_inbound_calls *served;
    struct pair pair;
    int code;

    (void)state;
    pair_open(&pair, &limits, 0);
    served = pair.guest.connection.served;
    assert_int_equal(begin(&pair, &code, 1), 0);
    (void)hub_link_sweep(pair.guest.connection.link, 8);
    hub_inbound_calls_cancel(served, first_id);
    assert_int_equal(hub_load_relaxed(&served->owes), 1);
    hub_link_dead(pair.guest.connection.link);
    assert_int_equal(hub_load_relaxed(&served->owes), 0);
    assert_null(hub_inbound_calls_next(served, NULL, NULL));
    pair_close(&pair);
}

static int answer_all(struct end *end, uint32_t size)
{
    static const uint8_t bytes[1000];
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_request *request;
    int count = 0;

    while ((request = hub_inbound_calls_next(end->connection.served, NULL, NULL))) {
        assert_int_equal(hub_inbound_calls_answer(end->connection.served, request, &ok,
                                                  (struct rapahub_bytes){bytes, size}),
                         0);
        count++;
    }
    return count;
}

/* Twice as many calls as the ring holds answers, and more than there are slots: the host goes on,
 * and sends what it kept as soon as the guest reads. r[verify hub.ring.no-drop] */
static void answers_a_guest_does_not_read_are_kept(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_inbound_calls *served;
    struct pair pair;
    int codes[14];

    (void)state;
    pair_open(&pair, &limits, 0);
    served = pair.host.connection.served;
    for (int i = 0; i < 14; i++) {
        const struct hub_call call = {.method_id = 3,
                                      .payload = {.head = {(const uint8_t *)"", 1}},
                                      .deadline_ns = hub_clock_after(SOON),
                                      .done = take_code,
                                      .user = &codes[i]};
        uint64_t number;

        codes[i] = 1;
        assert_int_equal(hub_calls_begin(pair.guest.connection.calls, &call, &number), 0);
        if (i % 7 == 6)
            (void)hub_link_sweep(pair.host.connection.link, 64);
    }
    assert_int_equal(answer_all(&pair.host, 900), 14);
    assert_true(hub_response_queue_any(served));
    assert_int_equal(hub_inbound_calls_open(served), 14 - 4);
    for (int i = 0; i < 14 && hub_response_queue_any(served); i++) {
        (void)hub_link_sweep(pair.guest.connection.link, 64);
        (void)hub_link_sweep(pair.host.connection.link, 64);
    }
    (void)hub_link_sweep(pair.guest.connection.link, 64);
    (void)hub_call_ends_deliver(pair.guest.connection.calls);
    for (int i = 0; i < 14; i++)
        assert_int_equal(codes[i], 0);
    assert_int_equal(hub_inbound_calls_open(served), 0);
    pair_close(&pair);
}

/* Instead of a table's own budget. */
static void set_budget(struct hub_inbound_calls *served, uint64_t limit)
{
    hub_budget_drop(&served->budget);
    served->budget = hub_budget_create(limit);
    assert_non_null(served->budget);
}

static void fetch_all(struct pair *pair)
{
    for (int i = 0; i < 14 && hub_response_queue_any(pair->host.connection.served); i++) {
        (void)hub_link_sweep(pair->guest.connection.link, 64);
        (void)hub_link_sweep(pair->host.connection.link, 64);
    }
    (void)hub_link_sweep(pair->guest.connection.link, 64);
    (void)hub_call_ends_deliver(pair->guest.connection.calls);
}

static int begin_at_guest(struct pair *pair, int *code, uint32_t size)
{
    static const uint8_t zeros[1000];
    const struct hub_call call = {.method_id = 3,
                                  .payload = {.head = {zeros, size}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .done = take_code,
                                  .user = code};
    uint64_t number;

    *code = 1;
    return hub_calls_begin(pair->guest.connection.calls, &call, &number);
}

static void serve_with(struct pair *pair, const struct hub_response *response,
                       struct rapahub_bytes body)
{
    struct hub_inbound_calls *served = pair->host.connection.served;
    struct hub_request *request = hub_inbound_calls_next(served, NULL, NULL);

    assert_non_null(request);
    assert_int_equal(hub_inbound_calls_answer(served, request, response, body), 0);
}

/* Four answers go, of ten there is budget for three; those of errors are kept always.
 * r[verify sec.call.budget] r[verify call.lifecycle.single-response] */
static void of_answers_nobody_fetches_a_budget_is_kept(void **state)
{
    static uint8_t bytes[3000];
    static char text[900];
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK},
                              error = {.kind = HUB_RESPONSE_USER, .code = 1, .text = {text, 900}};
    struct hub_limits limits = pair_limits();
    struct hub_inbound_calls *served;
    int codes[14], dropped = 0;
    struct pair pair;

    (void)state;
    memset(text, 'e', sizeof text);
    limits.slot_size = 4096;
    limits.payload_max = 4092;
    pair_open(&pair, &limits, 0);
    served = pair.host.connection.served;
    set_budget(served, 10000);
    for (int i = 0; i < 14; i++) {
        assert_int_equal(begin_at_guest(&pair, &codes[i], 1), 0);
        if (i % 7 == 6)
            (void)hub_link_sweep(pair.host.connection.link, 64);
    }
    for (int i = 0; i < 14; i++) {
        bool fails = i % 7 == 6;

        serve_with(&pair, fails ? &error : &ok,
                   (struct rapahub_bytes){bytes, fails ? 0 : sizeof bytes});
    }
    assert_in_range(hub_load_relaxed64(&served->budget->used), 2 * 3000, 10000 + 2 * 1400);
    fetch_all(&pair);
    for (int i = 0; i < 14; i++) {
        bool is_dropped = i % 7 != 6 && codes[i] == RAPAHUB_EBUDGET;

        assert_int_equal(codes[i], is_dropped   ? RAPAHUB_EBUDGET
                                   : i % 7 == 6 ? RAPAHUB_EAPPLICATION
                                                : 0);
        dropped += is_dropped;
    }
    assert_in_range(dropped, 5, 6);
    assert_int_equal(hub_load_relaxed64(&served->budget->refused), dropped);
    assert_int_equal(hub_load_relaxed64(&served->budget->used), 0);
    assert_int_equal(hub_inbound_calls_open(served), 0);
    pair_close(&pair);
}

/* r[verify sec.call.budget] */
static void a_request_beyond_the_budget_is_not_run_and_told_so(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_limits limits = pair_limits();
    struct hub_request *request;
    struct hub_inbound_calls *served;
    struct pair pair;
    int codes[3];

    (void)state;
    pair_open(&pair, &limits, 0);
    served = pair.host.connection.served;
    set_budget(served, 2000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(begin_at_guest(&pair, &codes[i], i < 2 ? 900 : 1), 0);
    (void)hub_link_sweep(pair.host.connection.link, 64);
    assert_int_equal(hub_inbound_calls_open(served), 2);
    assert_false(hub_inbound_calls_over_budget(served, hub_inbound_calls_next(served, NULL, NULL)));
    hub_budget_charge(served->budget, 1001);
    request = hub_inbound_calls_next(served, NULL, NULL);
    assert_true(hub_inbound_calls_over_budget(served, request));
    assert_int_equal(hub_inbound_calls_answer(served, request, &ok, (struct rapahub_bytes){"", 0}),
                     0);
    hub_budget_give(served->budget, 1001);
    fetch_all(&pair);
    assert_int_equal(codes[0], 1); /* it runs still */
    assert_int_equal(codes[1], RAPAHUB_EBUDGET);
    assert_string_equal(rapahub_last_error()->rule, "sec.call.budget");
    assert_non_null(strstr(rapahub_last_error()->text, "was not run"));
    assert_int_equal(codes[2], 0);
    assert_int_equal(hub_load_relaxed64(&served->budget->refused), 1);
    pair_close(&pair);
}

static void a_call_that_finds_no_space_leaves_nothing(void **state)
{
    const struct hub_limits limits = pair_limits();
    const struct hub_call call = {.method_id = 3,
                                  .payload = {.head = {(const uint8_t *)"", 1}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .done = take_code,
                                  .user = &(int){0},
                                  .at_once = true};
    struct pair pair;
    uint64_t number;

    (void)state;
    pair_open(&pair, &limits, 0);
    for (int i = 0; i < 7; i++)
        assert_int_equal(hub_calls_begin(pair.host.connection.calls, &call, &number), 0);
    assert_int_equal(hub_calls_begin(pair.host.connection.calls, &call, &number), -EAGAIN);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 7);
    pair_close(&pair);
}

static uint64_t cpu_of_thread(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * HUB_SECOND + (uint64_t)used.tv_nsec;
}

/* Requests of a guest that reads no answers, until the host takes no more. */
static void flood(struct pair *pair)
{
    static const uint8_t payload[] = {0};
    const struct hub_parts parts = {.head = {payload, sizeof payload}};
    uint32_t id = 1;

    for (; !hub_inbound_calls_full(pair->host.connection.served); id++) {
        const struct hub_message message = {HUB_REQUEST, id, 3};

        assert_true(id < 4 * HUB_CALLS_MAX);
        assert_int_equal(hub_link_send(pair->guest.connection.link, &message, &parts, 0), 0);
        (void)hub_link_sweep(pair->host.connection.link, 1);
    }
    for (int r = 0; r == 0; id++) {
        const struct hub_message message = {HUB_REQUEST, id, 3};

        r = hub_link_send(pair->guest.connection.link, &message, &parts, 0);
    }
}

/* r[verify hub.loop.bound] */
static void a_flood_costs_no_sweep_after_the_other(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    uint32_t before;

    (void)state;
    pair_open(&pair, &limits, 0);
    flood(&pair);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 0);
    before = hub_load_relaxed(&pair.host.pending);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 64), 0);
    assert_int_equal(hub_load_relaxed(&pair.host.pending), before);
    assert_true(
        hub_response_queue_any(pair.host.connection.served)); /* so it is swept again anyway */
    pair_close(&pair);
}

/* r[verify hub.loop.bound] r[verify hub.wait.ladder] */
static void who_waits_behind_a_flood_sleeps(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    uint64_t start;

    (void)state;
    pair_open(&pair, &limits, 0);
    flood(&pair);
    start = cpu_of_thread();
    assert_int_equal(pair_call(&pair.host, 1, 4, hub_clock_after(200 * HUB_MILLISECOND)),
                     -ETIMEDOUT);
    assert_true(cpu_of_thread() - start < 100 * HUB_MILLISECOND);
    pair_close(&pair);
}

/* r[verify hub.loop.bound] r[verify hub.wait.ladder] */
static void who_waits_for_an_answer_behind_a_flood_sleeps(void **state)
{
    static const uint8_t payload[] = {0};
    const struct hub_limits limits = pair_limits();
    struct hub_answer answer = {0};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {payload, sizeof payload}},
                                  .deadline_ns = hub_clock_after(HUB_SECOND),
                                  .answer = &answer};
    struct pair pair;
    uint64_t number, start;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_calls_begin(pair.host.connection.calls, &call, &number), 0);
    flood(&pair);
    start = cpu_of_thread();
    assert_int_equal(hub_calls_wait(pair.host.connection.calls, number, false), -ETIMEDOUT);
    assert_true(cpu_of_thread() - start < 200 * HUB_MILLISECOND);
    hub_responses_fini(&answer);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_beyond_the_limit_is_answered_as_too_large),
        cmocka_unit_test(more_calls_than_the_table_holds_are_answered_busy),
        cmocka_unit_test(who_serves_may_choose_what_runs_now),
        cmocka_unit_test(metadata_that_cannot_be_read_ends_the_link),
        cmocka_unit_test(what_is_queued_when_the_peer_dies_is_never_run),
        cmocka_unit_test(what_was_cancelled_in_the_queue_is_forgotten_when_the_peer_dies),
        cmocka_unit_test(answers_a_guest_does_not_read_are_kept),
        cmocka_unit_test(of_answers_nobody_fetches_a_budget_is_kept),
        cmocka_unit_test(a_request_beyond_the_budget_is_not_run_and_told_so),
        cmocka_unit_test(a_call_that_finds_no_space_leaves_nothing),
        cmocka_unit_test(a_flood_costs_no_sweep_after_the_other),
        cmocka_unit_test(who_waits_behind_a_flood_sleeps),
        cmocka_unit_test(who_waits_for_an_answer_behind_a_flood_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

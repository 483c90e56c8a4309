/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request is between its receipt and its run, and who takes it out of there. */
#include <sched.h>

#include "hub/call/call_ends.h"
#include "hub/call/response_queue.h"
#include "tests/unit/link/pair.h"

#define CALLS 6000U

static void note_end(void *user, int code, struct hub_answer *answer)
{
    (void)answer;
    *(int *)user = code;
}

/* `code` is 1 until the call has ended. */
static int try_begin(struct pair *pair, int *code, uint64_t *number)
{
    const struct hub_call call = {.method_id = 3,
                                  .payload = {.head = {(const uint8_t *)"", 1}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .done = note_end,
                                  .user = code};

    *code = 1;
    return hub_calls_begin(pair->host.connection.calls, &call, number);
}

static uint64_t begin(struct pair *pair, int *code)
{
    uint64_t number = 0;

    assert_int_equal(try_begin(pair, code, &number), 0);
    return number;
}

static void receive(struct pair *pair)
{
    (void)hub_link_sweep(pair->guest.connection.link, 64);
}

static struct hub_request *next(struct pair *pair)
{
    return hub_inbound_calls_next(pair->guest.connection.served, NULL, NULL);
}

static void answer(struct end *end, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct rapahub_bytes nothing = {NULL, 0};

    assert_int_equal(hub_inbound_calls_answer(end->connection.served, request, &ok, nothing), 0);
}

static bool never(void *user, const struct hub_request *request)
{
    (void)user;
    (void)request;
    return false;
}

/* Also where some were looked at before, and others come meanwhile. */
static void requests_run_in_the_order_they_came(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_request *requests[4];
    struct pair pair;
    int codes[4];

    (void)state;
    pair_open(&pair, &limits, 0);
    (void)begin(&pair, &codes[0]);
    (void)begin(&pair, &codes[1]);
    receive(&pair);
    assert_null(hub_inbound_calls_next(pair.guest.connection.served, never, NULL));
    requests[0] = next(&pair);
    (void)begin(&pair, &codes[2]);
    receive(&pair);
    assert_null(hub_inbound_calls_next(pair.guest.connection.served, never, NULL));
    requests[1] = next(&pair);
    requests[2] = next(&pair);
    (void)begin(&pair, &codes[3]);
    receive(&pair);
    assert_null(hub_inbound_calls_next(pair.guest.connection.served, never, NULL));
    requests[3] = next(&pair);
    assert_null(next(&pair));
    for (int i = 0; i < 4; i++) {
        assert_non_null(requests[i]);
        assert_true(i == 0 || requests[i]->id > requests[i - 1]->id);
    }
    for (int i = 0; i < 4; i++)
        answer(&pair.guest, requests[i]);
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 0);
    pair_close(&pair);
}

/* The first stands elsewhere than the rest. r[verify call.cancel.best-effort] */
static void a_cancel_finds_each_that_does_not_run(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_request *running;
    struct pair pair;
    uint64_t numbers[4];
    int codes[4];

    (void)state;
    pair_open(&pair, &limits, 0);
    numbers[0] = begin(&pair, &codes[0]);
    receive(&pair);
    running = next(&pair);
    for (int i = 1; i < 4; i++)
        numbers[i] = begin(&pair, &codes[i]);
    receive(&pair);
    for (int i = 0; i < 3; i++)
        hub_calls_cancel(pair.host.connection.calls, numbers[i]);
    receive(&pair);
    assert_true(hub_request_is_cancelled(running) == 1);
    assert_true(hub_inbound_calls_is_cancelled(pair.guest.connection.served, running->id));
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 2);
    answer(&pair.guest, next(&pair));
    assert_null(next(&pair));
    answer(&pair.guest, running);
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 0);
    pair_close(&pair);
}

static void what_stands_first_when_the_peer_dies_is_never_run(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    int codes[2];

    (void)state;
    pair_open(&pair, &limits, 0);
    (void)begin(&pair, &codes[0]);
    (void)begin(&pair, &codes[1]);
    receive(&pair);
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 2);
    hub_link_dead(pair.guest.connection.link);
    assert_null(next(&pair));
    assert_int_equal(hub_inbound_calls_open(pair.guest.connection.served), 0);
    pair_close(&pair);
}

struct late_answer {
    struct pair pair;
    struct hub_request *request;
};

static void *answer_late(void *user)
{
    struct late_answer *late = user;

    answer(&late->pair.guest, late->request);
    return NULL;
}

static void collect_one(struct pair *pair)
{
    (void)hub_link_sweep(pair->host.connection.link, 1);
    (void)hub_call_ends_deliver(pair->host.connection.calls);
}

static uint64_t received(struct pair *pair)
{
    return hub_load_relaxed64(&hub_link_counters(pair->guest.connection.link)->received);
}

/* A thread that waits to send receives meanwhile: its answers then must not wait for itself.
 * r[verify hub.ring.pump] r[verify call.cancel.best-effort] */
static void who_waits_for_space_does_not_wait_for_itself(void **state)
{
    enum { ROOM = 7 };
    const struct hub_limits limits = pair_limits();
    uint64_t end, last = 0;
    struct late_answer late = {.request = NULL};
    int codes[ROOM + 2];
    pthread_t thread;

    (void)state;
    pair_open(&late.pair, &limits, 0);
    for (int i = 0; i < ROOM; i++) {
        (void)begin(&late.pair, &codes[i]);
        receive(&late.pair);
        answer(&late.pair.guest, next(&late.pair));
    }
    (void)begin(&late.pair, &codes[ROOM]);
    last = begin(&late.pair, &codes[ROOM + 1]);
    receive(&late.pair);
    late.request = next(&late.pair);
    assert_int_equal(pthread_create(&thread, NULL, answer_late, &late), 0);
    hub_calls_cancel(late.pair.host.connection.calls, last);
    end = hub_clock_after(SOON);
    while (received(&late.pair) < ROOM + 3 && hub_clock_left(end) > 0)
        sched_yield();
    assert_int_equal(received(&late.pair), ROOM + 3);
    while (hub_calls_open(late.pair.host.connection.calls) > 0 && hub_clock_left(end) > 0)
        collect_one(&late.pair);
    assert_int_equal(hub_calls_open(late.pair.host.connection.calls), 0);
    pthread_join(thread, NULL);
    assert_int_equal(codes[ROOM], 0);
    assert_int_equal(codes[ROOM + 1], 0); /* answered: that it is cancelled */
    assert_int_equal(hub_load_relaxed64(&hub_link_counters(late.pair.guest.connection.link)->sent),
                     ROOM + 2);
    assert_int_equal(hub_inbound_calls_open(late.pair.guest.connection.served), 0);
    pair_close(&late.pair);
}

/* ---- room ---- */

static void *place(struct hub_inbound_calls *served, uint32_t id, uint32_t size)
{
    const struct hub_message message = {HUB_REQUEST, id, 3};
    uint8_t *payload = hub_inbound_calls_place(served, &message, size, 0);

    if (payload)
        memset(payload, 0, size);
    return payload;
}

static int accept(struct hub_inbound_calls *served, uint32_t id, void *payload)
{
    const struct hub_message message = {HUB_REQUEST, id, 3};

    return hub_inbound_calls_accept(served, &message, payload);
}

/* r[verify hub.limits] r[verify sec.call.budget] r[verify call.request-id.duplicate-detection] */
static void what_is_not_taken_on_takes_no_room(void **state)
{
    struct hub_inbound_calls *served;
    void *payload;

    (void)state;
    assert_int_equal(hub_inbound_calls_create(2, 10000, &served), 0);
    assert_int_equal(accept(served, 1, place(served, 1, 7000)), 0);
    assert_null(place(served, 2, 3000));
    for (int i = 0; i < 5; i++) {
        payload = place(served, 2, 1000);
        assert_non_null(payload);
        hub_inbound_calls_drop(served, payload);
    }
    assert_int_equal(accept(served, 1, place(served, 1, 1000)), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "call.request-id.duplicate-detection");
    assert_int_equal(hub_inbound_calls_open(served), 1);
    assert_null(place(served, 2, 3000));
    assert_int_equal(accept(served, 2, place(served, 2, 100)), 0); /* bounded by number */
    assert_null(place(served, 3, 0));
    assert_int_equal(hub_inbound_calls_open(served), 2);
    hub_inbound_calls_release(&served);
}

/* ---- many threads ---- */

struct crowd {
    struct pair pair;
    struct hub_a32 stop, ran;
};

static bool has_stopped(void *user)
{
    return hub_observe(&((struct crowd *)user)->stop) != 0;
}

static void *receive_all(void *user)
{
    struct crowd *crowd = user;

    while (!has_stopped(crowd)) {
        const struct hub_link_until until = {.done = has_stopped,
                                             .user = crowd,
                                             .stage = HUB_WAIT_SLEEP,
                                             .deadline_ns = hub_clock_after(HUB_MILLISECOND)};

        (void)hub_link_lead(crowd->pair.guest.connection.link, &until);
    }
    return NULL;
}

static bool is_odd(void *user, const struct hub_request *request)
{
    (void)user;
    return request->id % 2 == 1;
}

/* Now the first, now the first of a kind. */
static void *serve_all(void *user)
{
    struct crowd *crowd = user;
    struct hub_inbound_calls *served = crowd->pair.guest.connection.served;

    for (uint32_t i = 0; !has_stopped(crowd); i++) {
        struct hub_request *request = hub_inbound_calls_next(served, i % 2 ? is_odd : NULL, NULL);

        if (!request) {
            sched_yield();
            continue;
        }
        hub_add(&crowd->ran, 1);
        answer(&crowd->pair.guest, request);
    }
    return NULL;
}

static void collect(struct pair *pair)
{
    (void)hub_link_sweep(pair->host.connection.link, 64);
    (void)hub_call_ends_deliver(pair->host.connection.calls);
}

/* A thread receives, two serve, and every third call is cancelled at once: run, or answered as
 * cancelled, and never both. r[verify call.lifecycle.single-response] */
static void each_request_is_answered_once_whoever_is_there(void **state)
{
    static int codes[CALLS];
    const struct hub_limits limits = pair_limits();
    uint64_t end = hub_clock_after(SOON);
    struct crowd crowd = {.stop = {0}};
    struct hub_calls *calls;
    pthread_t threads[3];

    (void)state;
    pair_open(&crowd.pair, &limits, 0);
    calls = crowd.pair.host.connection.calls;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, i == 0 ? receive_all : serve_all, &crowd), 0);
    for (uint32_t i = 0; i < CALLS; i++) {
        uint64_t number = 0;

        while (try_begin(&crowd.pair, &codes[i], &number) == -EBUSY && hub_clock_left(end) > 0)
            collect(&crowd.pair);
        if (i % 3 == 0)
            hub_calls_cancel(calls, number);
        if (i % 4 == 3)
            collect(&crowd.pair);
    }
    while ((hub_calls_open(calls) > 0 ||
            hub_inbound_calls_open(crowd.pair.guest.connection.served) > 0) &&
           hub_clock_left(end) > 0)
        collect(&crowd.pair);
    hub_publish(&crowd.stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    collect(&crowd.pair);
    for (uint32_t i = 0; i < CALLS; i++)
        assert_int_equal(codes[i], i % 3 == 0 && codes[i] != 0 ? -ECANCELED : 0);
    assert_int_equal(hub_calls_open(calls), 0);
    assert_int_equal(hub_inbound_calls_open(crowd.pair.guest.connection.served), 0);
    assert_true(hub_load_relaxed(&crowd.ran) >= CALLS - CALLS / 3);
    assert_int_equal(hub_load_relaxed64(&hub_link_counters(crowd.pair.guest.connection.link)->sent),
                     CALLS);
    pair_close(&crowd.pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_run_in_the_order_they_came),
        cmocka_unit_test(a_cancel_finds_each_that_does_not_run),
        cmocka_unit_test(what_stands_first_when_the_peer_dies_is_never_run),
        cmocka_unit_test(who_waits_for_space_does_not_wait_for_itself),
        cmocka_unit_test(what_is_not_taken_on_takes_no_room),
        cmocka_unit_test(each_request_is_answered_once_whoever_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

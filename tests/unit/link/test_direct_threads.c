/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that go directly where they can, between threads; and links that end under them. */
#include <sched.h>

#include "tests/unit/link/direct_pair.h"

#define CALLS   4000
#define THREADS 8
#define ROUNDS  20
#define GAP     20000 /* pauses between two looks, so that a look for an answer takes a while */
#define LARGEST 120   /* bytes, so that the length is one byte */

/* Slowed down by a sanitizer, it looks for longer. */
static void open_patient(struct pair *pair, const struct hub_limits *limits, uint32_t first_index)
{
    open_direct(pair, limits, first_index);
#ifdef __SANITIZE_THREAD__
    pair->host.connection.link->wait.gap = pair->guest.connection.link->wait.gap = 2000;
#endif
}

/* The two of one link are on two CPUs, where there are two. */
static void pin(pthread_t thread, bool first)
{
    cpu_set_t all, one;
    size_t cpu = first ? 0 : CPU_SETSIZE - 1;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu = first ? cpu + 1 : cpu - 1;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(pthread_setaffinity_np(thread, sizeof one, &one), 0);
}

/* Answers each request with its arguments, which are bytes. */
static void answer(struct end *guest, struct hub_request *request, bool direct)
{
    const struct rapahub_bytes in = {(const uint8_t *)request->arguments.data + 1,
                                     request->arguments.size - 1};
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_inbound_calls *served = guest->connection.served;

    if (!direct || !hub_direct_serve_bytes(served, in, false))
        (void)hub_inbound_calls_answer(served, request, &ok, request->arguments);
}

static bool serve_queued(struct end *guest)
{
    struct hub_request *request;
    bool any = false;

    hub_store_relaxed(&guest->requests, 0);
    while ((request = hub_inbound_calls_next(guest->connection.served, NULL, NULL))) {
        answer(guest, request, false);
        any = true;
    }
    return any;
}

/* Serves like the loop of a guest. */
static void *serve(void *user)
{
    struct end *guest = user;
    struct hub_link *link = guest->connection.link;

    while (!hub_link_closed(link) && !hub_link_host_left(link)) {
        const struct hub_link_until until = {.done = pair_has_work,
                                             .user = guest,
                                             .stage = HUB_WAIT_SLEEP,
                                             .deadline_ns = hub_clock_after(HUB_SECOND)};
        struct hub_request *request = hub_direct_serve_next(guest->connection.served);

        if (request)
            answer(guest, request, true);
        else if (!serve_queued(guest))
            (void)hub_link_wait(link, &until);
    }
    return NULL;
}

struct caller {
    struct pair *pair;
    struct hub_a32 begun;
    int seed, wrong, direct, sent, code;
};

static bool is_echo(const uint8_t *data, uint32_t size, uint8_t length)
{
    bool same = size == 3U + length && data[0] == 0 && data[1] == 0 && data[2] == length;

    for (uint8_t i = 0; same && i < length; i++)
        same = data[3 + i] == (uint8_t)(length + i);
    return same;
}

static int call_ordinarily(struct caller *caller, const uint8_t *payload, uint8_t length,
                           struct hub_answer *out)
{
    struct hub_calls *calls = caller->pair->host.connection.calls;
    const struct hub_call call = {.method_id = METHOD,
                                  .payload = {.head = {payload, 2U + length}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .answer = out};
    uint64_t number;
    int r = hub_calls_begin(calls, &call, &number);

    return r < 0 ? r : hub_calls_wait(calls, number, false);
}

static int call_once(struct caller *caller, uint8_t length)
{
    struct hub_calls *calls = caller->pair->host.connection.calls;
    struct hub_answer out = {0};
    uint8_t payload[LARGEST + 2] = {0, length}, small[HUB_INLINE_SIZE];
    const struct hub_parts parts = {.head = {payload, 2U + length}};
    const struct hub_direct_order order = {
        .method_id = METHOD, .timeout_ns = SOON, .small = small, .answer = &out};
    struct hub_direct_end end = {HUB_DIRECT_REFUSED, 0};
    int r = 0;

    for (uint8_t i = 0; i < length; i++)
        payload[2 + i] = (uint8_t)(length + i);
    if (length <= HUB_INLINE_SIZE - 2)
        end = hub_direct_call(calls, &parts, &order, false);
    if (end.outcome == HUB_DIRECT_ANSWERED) {
        caller->direct++;
        caller->wrong += !is_echo(small, (uint32_t)end.of, length);
        return 0;
    }
    r = end.outcome == HUB_DIRECT_SENT ? hub_calls_wait(calls, end.of, false)
                                       : call_ordinarily(caller, payload, length, &out);
    caller->sent += end.outcome == HUB_DIRECT_SENT;
    caller->wrong += r == 0 && !is_echo(out.data, out.size, length);
    hub_responses_fini(&out);
    return r;
}

static void *call_often(void *user)
{
    struct caller *caller = user;

    for (int i = 0; i < CALLS && caller->code == 0; i++)
        caller->code =
            call_once(caller, (uint8_t)((i * 7 + caller->seed) % (i % 4 == 0 ? LARGEST : 31)));
    return NULL;
}

static void stop_serving(struct pair *pair, pthread_t thread)
{
    hub_publish(&pair->guest.view.header->host_goodbye, 1);
    hub_link_alert(pair->host.connection.link);
    pthread_join(thread, NULL);
}

/* r[verify call.complete] r[verify call.request-id.uniqueness] */
static void run_threads(int count, uint32_t first_index)
{
    struct hub_limits limits = pair_limits();
    struct caller callers[THREADS];
    pthread_t server, threads[THREADS];
    struct pair pair;
    int direct = 0;

    limits.ring_size = 64;
    limits.slot_count = 16;
    open_patient(&pair, &limits, first_index);
    assert_int_equal(pthread_create(&server, NULL, serve, &pair.guest), 0);
    if (count == 1)
        pin(server, true);
    for (int i = 0; i < count; i++) {
        callers[i] = (struct caller){.pair = &pair, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
        if (count == 1)
            pin(threads[i], false);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].code, 0);
        assert_int_equal(callers[i].wrong, 0);
        direct += callers[i].direct;
    }
    assert_int_equal(hub_calls_answered(pair.host.connection.calls), count * CALLS);
    assert_int_equal(hub_calls_late(pair.host.connection.calls), 0);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    print_message("%d threads: %d of %d directly\n", count, direct, count * CALLS);
    stop_serving(&pair, server);
    pair_close(&pair);
}

static void one_thread_calls(void **state)
{
    (void)state;
    run_threads(1, UINT32_C(0xffffff00));
}

static void eight_threads_call(void **state)
{
    (void)state;
    run_threads(THREADS, 0);
}

/* ---- the end ---- */

static void *call_into_the_end(void *user)
{
    struct caller *caller = user;
    struct attempt one;

    be_far(caller->pair);
    attempt_within(caller->pair, 1, SOON, &one);
    caller->sent = one.end.outcome == HUB_DIRECT_SENT;
    caller->code = caller->sent ? wait_for(caller->pair, &one) : RAPAHUB_ESTALE;
    return NULL;
}

static void await(const struct hub_a32 *word, uint32_t least)
{
    while (hub_observe(word) < least)
        hub_pause();
}

/* The close ends a call that is not entered yet all the same, and counts it. */
static void end_while_it_looks(bool by_death)
{
    const struct hub_limits limits = pair_limits();
    struct caller caller = {0};
    struct pair pair;
    pthread_t thread;

    open_direct(&pair, &limits, 0);
    caller.pair = &pair;
    pair.host.connection.link->wait.gap = GAP;
    assert_int_equal(pthread_create(&thread, NULL, call_into_the_end, &caller), 0);
    await(&pair.host.view.entry->host_to_guest_head, 1);
    if (by_death)
        hub_link_dead(pair.host.connection.link);
    else
        hub_link_close(pair.host.connection.link, RAPAHUB_EDIED, "");
    pthread_join(thread, NULL);
    assert_int_equal(caller.code, caller.sent ? RAPAHUB_EDIED : RAPAHUB_ESTALE);
    assert_int_equal(hub_load_relaxed(&pair.host.closed), 1);
    assert_int_equal(hub_calls_lost(pair.host.connection.calls), caller.sent);
    assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
    assert_false(hub_link_receiving(pair.host.connection.link));
    pair_close(&pair);
}

/* r[verify hub.call.once] r[verify hub.wait.bound] */
static void a_link_that_closes_ends_what_was_sent_directly_once(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        end_while_it_looks(false);
}

/* Even if the token is held by the caller, who has to close it then. */
static void a_death_ends_what_was_sent_directly_once(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        end_while_it_looks(true);
}

static void *call_until_the_end(void *user)
{
    struct caller *caller = user;

    for (int i = 0; caller->code == 0; i++) {
        caller->code = call_once(caller, (uint8_t)(i % 29));
        hub_publish(&caller->begun, (uint32_t)i);
    }
    return NULL;
}

/* By a thread that neither serves nor receives. */
static void a_guest_s_link_may_be_closed_while_it_serves(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        const struct hub_limits limits = pair_limits();
        struct caller caller = {0};
        pthread_t server, thread;
        uint64_t looks;
        struct pair pair;

        open_patient(&pair, &limits, 0);
        caller.pair = &pair;
        assert_int_equal(pthread_create(&server, NULL, serve, &pair.guest), 0);
        pin(server, true);
        assert_int_equal(pthread_create(&thread, NULL, call_until_the_end, &caller), 0);
        pin(thread, false);
        await(&caller.begun, 50);
        looks = hub_clock_after(HUB_MILLISECOND / 2); /* after the last one that was seen */
        while (hub_clock_left(looks) != 0)
            hub_pause();
        hub_link_close(pair.guest.connection.link, RAPAHUB_ECLOSED, "");
        pthread_join(server, NULL);
        hub_link_close(pair.host.connection.link, RAPAHUB_ECLOSED, "");
        pthread_join(thread, NULL);
        assert_true(caller.code == RAPAHUB_ECLOSED || caller.code == RAPAHUB_ESTALE);
        assert_int_equal(caller.wrong, 0);
        assert_int_equal(hub_calls_open(pair.host.connection.calls), 0);
        pair_close(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_calls),
        cmocka_unit_test(eight_threads_call),
        cmocka_unit_test(a_link_that_closes_ends_what_was_sent_directly_once),
        cmocka_unit_test(a_death_ends_what_was_sent_directly_once),
        cmocka_unit_test(a_guest_s_link_may_be_closed_while_it_serves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

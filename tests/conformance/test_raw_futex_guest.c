/* SPDX-License-Identifier: Apache-2.0 */
/* Our host with two raw guests of another implementation: one rings its doorbell, the other wakes
 * the futexes of the specification and never rings. A call takes no more than twice as long with
 * the second, whichever thread waits, and however. */
#include <poll.h>
#include <pthread.h>

#include "tests/conformance/raw_pace.h"
#include "tests/conformance/raw_stage.h"

struct peer {
    struct rapahub_host *host;
    struct rapahub_container_id container;
    uint64_t done;
};

static const struct rapahub_container_id containers[PEER_KINDS] = {{.pool = {1, 0}},
                                                                   {.pool = {3, 0}}};

static void begin_guest(struct stage *stage, enum peer_kind kind, struct peer *peer)
{
    static const char *const bell[] = {"foreign", NULL};
    static const char *const futex[] = {"foreign", "futex-only", NULL};
    const struct rapahub_guest_options guest = {.chimod = PROCESS_CHIMOD("echo"),
                                                .plain = kind == FUTEX_ONLY ? futex : bell,
                                                .trust = RAPAHUB_TRUST_STANDARD};
    const struct rapahub_container_options begin = {
        .id = containers[kind], .pool_name = kind == FUTEX_ONLY ? "futex" : "bell"};

    check_done(rapahub_host_spawn(stage->host, &guest, &stage->guest));
    check_done(rapahub_host_add_container(stage->host, stage->guest, &begin));
    *peer = (struct peer){.host = stage->host, .container = containers[kind]};
}

static void begin_host(struct stage *stage)
{
    const struct rapahub_host_options options = {
        .guest_program = PROGRAM, .on_event = on_event, .user = stage, .heartbeat_ns = UINT64_MAX};
    const struct rapahub_container_options offer = {.id = host_side, .pool_name = "host"};

    memset(stage, 0, sizeof(*stage));
    stage->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    check_done(rapahub_host_create(&options, &stage->host));
    check_done(rapahub_host_offer(stage->host, &offer, offered, NULL));
}

/* ---- the timed calls ---- */

static void call_once(void *user)
{
    const struct peer *peer = user;
    const void *const arguments[] = {&(int64_t){20}, &(int64_t){22}, NULL};
    const struct rapahub_call call = {
        .target = peer->container, .method = "add(i64, i64) -> i64", .arguments = arguments};
    int64_t sum = 0;

    check_done(rapahub_host_call(peer->host, &call, &sum));
    assert_int_equal(sum, 42);
}

static double of_owner(struct peer *peer)
{
    return pace_of_calls(call_once, peer);
}

struct caller {
    struct peer *peer;
    double us;
};

static void *run_caller(void *user)
{
    struct caller *caller = user;

    caller->us = pace_of_calls(call_once, caller->peer);
    return NULL;
}

static double of_another_thread(struct peer *peer)
{
    struct caller caller = {peer, 0};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_caller, &caller), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return caller.us;
}

static void *kill_by_call(void *user)
{
    const struct peer *peer = user;
    const struct rapahub_call call = {.target = peer->container, .method = "die() -> void"};

    assert_int_equal(rapahub_host_call(peer->host, &call, NULL), RAPAHUB_EDIED);
    return NULL;
}

static void of_another_thread_that_kills(struct peer *peer)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, kill_by_call, peer), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static const uint64_t calls_back = TIMED;

/* The guest's request is answered inside of the host's wait. */
static double of_guest_in_a_call(struct peer *peer)
{
    const void *const arguments[] = {&calls_back, NULL};
    const struct rapahub_call call = {
        .target = peer->container, .method = "call_back(u64) -> i64", .arguments = arguments};
    double start = now_us();
    int64_t sum = 0;

    check_done(rapahub_host_call(peer->host, &call, &sum));
    assert_int_equal(sum, TIMED * (TIMED + 1) / 2);
    return (now_us() - start) / TIMED;
}

static void on_end(void *user, int status, const void *result)
{
    (void)result;
    ((struct peer *)user)->done += status == 0;
}

static void begin_calls_back(struct peer *peer)
{
    const void *const arguments[] = {&calls_back, NULL};
    const struct rapahub_call call = {
        .target = peer->container, .method = "call_back(u64) -> i64", .arguments = arguments};

    peer->done = 0;
    check_done(rapahub_host_call_async(peer->host, &call, on_end, peer, NULL));
}

/* The same while the host waits for nothing of it, and dispatches. */
static double of_guest_beside_a_loop(struct peer *peer)
{
    double start = now_us();

    begin_calls_back(peer);
    while (peer->done == 0)
        check_done(rapahub_host_dispatch(peer->host, 1000));
    return (now_us() - start) / TIMED;
}

static double of_guest_beside_a_poll(struct peer *peer)
{
    struct pollfd loop = {.fd = rapahub_host_fd(peer->host), .events = POLLIN};
    double start = now_us();

    begin_calls_back(peer);
    while (peer->done == 0) {
        check_done(rapahub_host_dispatch(peer->host, 0));
        if (peer->done == 0)
            assert_true(poll(&loop, 1, 1000) >= 0);
    }
    return (now_us() - start) / TIMED;
}

/* ---- */

static void check(struct peer peers[PEER_KINDS], struct pace pace, double (*time)(struct peer *))
{
    for (int kind = 0; kind < PEER_KINDS; kind++)
        for (int i = 0; i < UNTIMED; i++)
            call_once(&peers[kind]);
    for (int i = 0; i < ROUNDS; i++)
        for (int kind = 0; kind < PEER_KINDS; kind++)
            pace.us[kind][i] = time(&peers[kind]);
    pace_check(&pace);
}

static void check_all(struct peer peers[PEER_KINDS], unsigned times)
{
    check(peers, (struct pace){.name = "the owner calls the guest", .times = times}, of_owner);
    check(peers, (struct pace){.name = "another thread calls the guest", .times = times},
          of_another_thread);
    check(peers, (struct pace){.name = "the guest calls, in a call of the owner", .times = times},
          of_guest_in_a_call);
    check(peers, (struct pace){.name = "the guest calls, beside a loop", .times = times},
          of_guest_beside_a_loop);
}

/* r[verify shm.wakeup.consumer-wait] r[verify hub.wait.foreign] */
static void a_guest_that_only_wakes_futexes_costs_no_more_than_twice_a_bell(void **state)
{
    struct peer peers[PEER_KINDS];
    struct stage stages[PEER_KINDS];

    (void)state;
    for (int kind = 0; kind < PEER_KINDS; kind++) {
        begin_host(&stages[kind]);
        begin_guest(&stages[kind], (enum peer_kind)kind, &peers[kind]);
    }
    check_all(peers, TIMES);
    for (int kind = PEER_KINDS; kind-- > 0;) /* the second then finds the same state as the first */
        close_stage(&stages[kind]);
}

/* Neither the owner nor another thread notices that in a futex: the lookout tells them.
 * r[verify hub.wait.bound] */
static void a_call_ends_with_such_a_guest(void **state)
{
    (void)state;
    for (int by_thread = 0; by_thread < 2; by_thread++) {
        struct peer peer;
        struct stage stage;
        double start;

        begin_host(&stage);
        begin_guest(&stage, FUTEX_ONLY, &peer);
        for (int i = 0; i < UNTIMED; i++)
            call_once(&peer);
        start = now_us();
        if (by_thread)
            of_another_thread_that_kills(&peer);
        else
            kill_by_call(&peer);
        assert_true(now_us() - start < 500e3);
        close_stage(&stage);
    }
}

/* Then the owner must hear both, and for the second a thread hears: a step more, on a machine with
 * two CPUs and other things to do. */
static void beside_one_that_rings_it_costs_little_more(void **state)
{
    struct peer peers[PEER_KINDS];
    struct stage stage;

    (void)state;
    begin_host(&stage);
    for (int kind = 0; kind < PEER_KINDS; kind++)
        begin_guest(&stage, (enum peer_kind)kind, &peers[kind]);
    check_all(peers, TIMES_BESIDE);
    close_stage(&stage);
}

/* The same thread hears for a program that waits for the loop's descriptor. */
static void nor_does_it_where_others_may_wait_for_the_loop(void **state)
{
    struct peer peers[PEER_KINDS];
    struct stage stages[PEER_KINDS];

    (void)state;
    for (int kind = 0; kind < PEER_KINDS; kind++) {
        begin_host(&stages[kind]);
        begin_guest(&stages[kind], (enum peer_kind)kind, &peers[kind]);
        assert_true(rapahub_host_fd(stages[kind].host) >= 0);
    }
    check(peers,
          (struct pace){.name = "the guest calls, beside a program's loop", .times = TIMES_BESIDE},
          of_guest_beside_a_poll);
    for (int kind = PEER_KINDS; kind-- > 0;)
        close_stage(&stages[kind]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_that_only_wakes_futexes_costs_no_more_than_twice_a_bell),
        cmocka_unit_test(a_call_ends_with_such_a_guest),
        cmocka_unit_test(beside_one_that_rings_it_costs_little_more),
        cmocka_unit_test(nor_does_it_where_others_may_wait_for_the_loop),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/connection/heartbeat.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SOON     (10 * HUB_SECOND)
#define INTERVAL (10 * HUB_MILLISECOND)
#define SILENCE  (8 * INTERVAL) /* long enough for many beats */

struct heart {
    struct hub_heartbeat heartbeat;
    struct hub_peer_entry entry;
    struct hub_inbound_calls *served; /* knows which requests were cancelled; NULL: none */
    uint64_t before;
};

static int start(struct heart *heart, uint64_t interval_ns)
{
    const struct hub_heartbeat_order order = {
        .entry = &heart->entry, .epoch = 3, .served = heart->served, .interval_ns = interval_ns};

    memset(&heart->heartbeat, 0, sizeof heart->heartbeat);
    memset(&heart->entry, 0, sizeof heart->entry);
    hub_store_relaxed(&heart->entry.state, HUB_PEER_ATTACHED);
    hub_store_relaxed(&heart->entry.epoch, 3);
    return hub_heartbeat_start(&heart->heartbeat, &order);
}

static bool went_on(void *user)
{
    const struct heart *heart = user;

    return hub_observe64(&heart->entry.last_heartbeat) > heart->before;
}

static uint64_t beat_of(const struct heart *heart)
{
    return hub_observe64(&heart->entry.last_heartbeat);
}

static void assert_beats(struct heart *heart)
{
    for (int i = 0; i < 3; i++) {
        heart->before = beat_of(heart);
        assert_true(process_until(went_on, heart, SOON));
    }
}

/* Beats may be on their way, late on a busy machine. */
static void assert_silent(struct heart *heart)
{
    uint64_t end = hub_clock_after(100 * INTERVAL);

    do
        heart->before = beat_of(heart);
    while (process_until(went_on, heart, SILENCE) && hub_clock_left(end) > 0);
    assert_true(hub_clock_left(end) > 0);
}

/* r[verify shm.crash.heartbeat] r[verify shm.crash.heartbeat-clock] */
static void it_writes_the_monotonic_time_again_and_again(void **state)
{
    struct leak *leak = leak_begin();
    struct heart heart = {0};

    (void)state;
    assert_int_equal(start(&heart, INTERVAL), 0);
    heart.before = hub_clock_now() - HUB_SECOND;
    assert_true(process_until(went_on, &heart, SOON));
    assert_beats(&heart);
    assert_true(beat_of(&heart) <= hub_clock_now());
    hub_heartbeat_stop(&heart.heartbeat);
    leak_assert_none(leak);
}

/* A host that checks once in an interval must find a new beat each time, even if one comes late: so
 * they are half an interval apart. Some rounds are expected to be undisturbed.
 * r[verify shm.crash.heartbeat] */
static void beats_are_half_an_interval_apart(void **state)
{
    const uint64_t interval = 5 * INTERVAL;
    struct heart heart = {0};
    unsigned most = 0;

    (void)state;
    assert_int_equal(start(&heart, interval), 0);
    for (int round = 0; round < 40 && most < 9; round++) {
        uint64_t until = hub_clock_after(6 * interval), last = beat_of(&heart);
        unsigned count = 0;

        for (; hub_clock_left(until) > 0; last = beat_of(&heart))
            count += beat_of(&heart) != last;
        most = count > most ? count : most;
    }
    hub_heartbeat_stop(&heart.heartbeat);
    assert_in_range(most, 8, 13); /* of 12 intervals; one beat an interval would be 6 */
}

/* A host may say any number; nothing of it wraps. r[verify shm.crash.heartbeat] */
static void an_interval_beyond_all_bounds_is_an_hour(void **state)
{
    struct heart heart = {0};

    (void)state;
    assert_int_equal(start(&heart, UINT64_MAX), 0);
    assert_true(process_until(went_on, &heart, SOON));
    assert_true(heart.heartbeat.interval_ns == 3600 * HUB_SECOND);
    hub_heartbeat_stop(&heart.heartbeat);
}

/* ---- the reasons for a beat ---- */

/* r[verify shm.crash.heartbeat] */
static void a_loop_that_takes_no_step_has_no_heart(void **state)
{
    struct heart heart = {0};

    (void)state;
    assert_int_equal(start(&heart, INTERVAL), 0);
    (void)hub_heartbeat_enter(&heart.heartbeat, HUB_HEARTBEAT_WORKS);
    assert_silent(&heart);
    (void)hub_heartbeat_enter(&heart.heartbeat, HUB_HEARTBEAT_WORKS);
    assert_true(process_until(went_on, &heart, SOON));
    hub_heartbeat_stop(&heart.heartbeat);
}

/* r[verify shm.crash.heartbeat] */
static void a_loop_that_sleeps_over_its_messages_has_no_heart(void **state)
{
    struct heart heart = {0};

    (void)state;
    assert_int_equal(start(&heart, INTERVAL), 0);
    (void)hub_heartbeat_enter(&heart.heartbeat, HUB_HEARTBEAT_WAITS);
    assert_beats(&heart);
    hub_publish(&heart.entry.host_to_guest_head, 1);
    assert_silent(&heart);
    hub_publish(&heart.entry.host_to_guest_tail, 1);
    assert_beats(&heart);
    hub_heartbeat_stop(&heart.heartbeat);
}

/* A request as it comes from the host, taken to be run. */
static struct hub_request *take_request(struct hub_inbound_calls *served, uint32_t id)
{
    const struct hub_message message = {HUB_REQUEST, id, 3};
    uint8_t *payload = hub_inbound_calls_place(served, &message, 1, 0);
    struct hub_request *request;

    assert_non_null(payload);
    *payload = 0; /* no metadata */
    assert_int_equal(hub_inbound_calls_accept(served, &message, payload), 0);
    request = hub_inbound_calls_next(served, NULL, NULL);
    assert_non_null(request);
    assert_int_equal(request->id, id);
    return request;
}

static void assert_falls_silent(struct heart *heart)
{
    uint64_t start_ns = hub_clock_now();

    do
        heart->before = beat_of(heart);
    while (process_until(went_on, heart, 4 * INTERVAL) && hub_clock_now() - start_ns < SOON);
    assert_true(hub_clock_now() - start_ns < SOON);
    assert_silent(heart);
}

/* However long it runs: its caller has not given up. But when its caller has, it must come to an
 * end. r[verify shm.crash.heartbeat] */
static void a_method_has_a_heart_while_somebody_waits_for_it(void **state)
{
    struct heart heart = {0};
    uint64_t start_ns;

    (void)state;
    assert_int_equal(hub_inbound_calls_create(4, 1 << 20, &heart.served), 0);
    (void)take_request(heart.served, 7);
    (void)take_request(heart.served, 9);
    assert_int_equal(start(&heart, INTERVAL), 0);
    hub_heartbeat_run(&heart.heartbeat, 9);
    assert_int_equal(hub_heartbeat_enter(&heart.heartbeat, HUB_HEARTBEAT_RUNS),
                     HUB_HEARTBEAT_EXCUSED);
    start_ns = hub_clock_now();
    while (hub_clock_now() - start_ns < 2 * HUB_HEARTBEAT_PATIENCE * INTERVAL)
        assert_beats(&heart);
    hub_inbound_calls_cancel(heart.served, 7); /* another one */
    start_ns = hub_clock_now();
    while (hub_clock_now() - start_ns < 2 * HUB_HEARTBEAT_PATIENCE * INTERVAL)
        assert_beats(&heart);
    hub_inbound_calls_cancel(heart.served, 9);
    assert_beats(&heart); /* it may still notice */
    assert_falls_silent(&heart);
    assert_int_equal(hub_heartbeat_enter(&heart.heartbeat, HUB_HEARTBEAT_WAITS),
                     HUB_HEARTBEAT_RUNS);
    assert_beats(&heart);
    hub_heartbeat_stop(&heart.heartbeat);
    hub_inbound_calls_release(&heart.served);
}

/* r[verify hub.death.guard] */
static void an_entry_that_is_somebody_else_s_is_not_written_to(void **state)
{
    struct heart heart = {0};

    (void)state;
    assert_int_equal(start(&heart, INTERVAL), 0);
    assert_beats(&heart);
    hub_publish(&heart.entry.epoch, 4);
    assert_silent(&heart);
    hub_publish(&heart.entry.epoch, 3);
    hub_publish(&heart.entry.state, HUB_PEER_RESERVED);
    assert_silent(&heart);
    hub_heartbeat_stop(&heart.heartbeat);
}

/* ---- its thread ---- */

static void to_stop_does_not_wait_for_the_next_beat(void **state)
{
    uint64_t start_ns = hub_clock_now();
    struct heart heart = {0};

    (void)state;
    assert_int_equal(start(&heart, 3600 * HUB_SECOND), 0);
    assert_true(process_until(went_on, &heart, SOON));
    hub_heartbeat_stop(&heart.heartbeat);
    hub_heartbeat_stop(&heart.heartbeat);
    assert_true(hub_clock_now() - start_ns < 2 * SOON);
    heart.before = beat_of(&heart);
    assert_false(process_until(went_on, &heart, 20 * HUB_MILLISECOND));
}

static void without_an_interval_there_is_no_thread(void **state)
{
    struct heart heart = {0};

    (void)state;
    assert_int_equal(start(&heart, 0), 0);
    assert_false(heart.heartbeat.runs);
    hub_heartbeat_run(&heart.heartbeat, 3);
    assert_int_equal(hub_heartbeat_enter(&heart.heartbeat, HUB_HEARTBEAT_RUNS),
                     HUB_HEARTBEAT_EXCUSED);
    hub_heartbeat_stop(&heart.heartbeat);
    assert_int_equal(beat_of(&heart), 0);
}

/* A signal that only the beat thread could receive would be handled without the module's
 * knowledge. */
static void signals_stay_with_the_serving_thread(void **state)
{
    struct heart heart = {0};
    sigset_t usr1, before, after, pending;

    (void)state;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert_int_equal(start(&heart, INTERVAL), 0);
    assert_true(process_until(went_on, &heart, SOON)); /* it runs, with the mask it keeps */
    pthread_sigmask(SIG_BLOCK, &usr1, &before); /* from now on only the other could take it */
    assert_false(sigismember(&before, SIGUSR1));
    kill(getpid(), SIGUSR1);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    sigwaitinfo(&usr1, NULL);
    hub_heartbeat_stop(&heart.heartbeat);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    assert_false(sigismember(&after, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_stop_does_not_wait_for_the_next_beat),
        /* After a test with a thread: ThreadSanitizer starts one of its own with the first, and
         * leaks are counted here. */
        cmocka_unit_test(it_writes_the_monotonic_time_again_and_again),
        cmocka_unit_test(beats_are_half_an_interval_apart),
        cmocka_unit_test(an_interval_beyond_all_bounds_is_an_hour),
        cmocka_unit_test(a_loop_that_takes_no_step_has_no_heart),
        cmocka_unit_test(a_loop_that_sleeps_over_its_messages_has_no_heart),
        cmocka_unit_test(a_method_has_a_heart_while_somebody_waits_for_it),
        cmocka_unit_test(an_entry_that_is_somebody_else_s_is_not_written_to),
        cmocka_unit_test(without_an_interval_there_is_no_thread),
        cmocka_unit_test(signals_stay_with_the_serving_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

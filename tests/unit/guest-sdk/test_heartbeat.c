/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include <rapahub/error.h>

#include "guest-sdk/heartbeat.h"
#include "hub/base/clock.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SOON (10 * HUB_SECOND)

struct beats {
    struct hub_a64 *word;
    uint64_t before;
};

static bool went_on(void *user)
{
    const struct beats *beats = user;

    return hub_observe64(beats->word) > beats->before;
}

/* r[verify shm.crash.heartbeat] r[verify shm.crash.heartbeat-clock] */
static void it_writes_the_monotonic_time_again_and_again(void **state)
{
    struct guest_heartbeat heartbeat = {.runs = false};
    struct leak *leak = leak_begin();
    struct hub_a64 word = {0};
    struct beats beats = {&word, hub_clock_now() - 1};

    (void)state;
    assert_int_equal(guest_heartbeat_start(&heartbeat, &word, 10 * HUB_MILLISECOND), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(process_until(went_on, &beats, SOON));
        beats.before = hub_observe64(&word);
        assert_true(beats.before <= hub_clock_now());
    }
    guest_heartbeat_stop(&heartbeat);
    leak_assert_none(leak);
}

static void to_stop_does_not_wait_for_the_next_beat(void **state)
{
    struct guest_heartbeat heartbeat = {.runs = false};
    struct hub_a64 word = {0};
    struct beats beats = {&word, 0};
    uint64_t start = hub_clock_now();

    (void)state;
    assert_int_equal(guest_heartbeat_start(&heartbeat, &word, 3600 * HUB_SECOND), 0);
    assert_true(process_until(went_on, &beats, SOON));
    guest_heartbeat_stop(&heartbeat);
    guest_heartbeat_stop(&heartbeat);
    assert_true(hub_clock_now() - start < 2 * SOON);
    beats.before = hub_observe64(&word);
    assert_false(process_until(went_on, &beats, 20 * HUB_MILLISECOND));
}

static void without_an_interval_there_is_no_thread(void **state)
{
    struct guest_heartbeat heartbeat = {.runs = false};
    struct hub_a64 word = {0};

    (void)state;
    assert_int_equal(guest_heartbeat_start(&heartbeat, &word, 0), 0);
    assert_false(heartbeat.runs);
    guest_heartbeat_stop(&heartbeat);
    assert_int_equal(hub_observe64(&word), 0);
}

/* A signal that only the beat thread could take would be handled behind the module's back. */
static void signals_stay_with_the_serving_thread(void **state)
{
    struct guest_heartbeat heartbeat = {.runs = false};
    struct hub_a64 word = {0};
    struct beats beats = {&word, 0};
    sigset_t usr1, before, after, pending;

    (void)state;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert_int_equal(guest_heartbeat_start(&heartbeat, &word, 10 * HUB_MILLISECOND), 0);
    assert_true(process_until(went_on, &beats, SOON)); /* it runs, with the mask it keeps */
    pthread_sigmask(SIG_BLOCK, &usr1, &before); /* from now on only the other could take it */
    assert_false(sigismember(&before, SIGUSR1));
    kill(getpid(), SIGUSR1);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    sigwaitinfo(&usr1, NULL);
    guest_heartbeat_stop(&heartbeat);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    assert_false(sigismember(&after, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_stop_does_not_wait_for_the_next_beat),
        /* Behind a test with a thread: ThreadSanitizer starts one of its own with the first, and
         * what is left behind is counted here. */
        cmocka_unit_test(it_writes_the_monotonic_time_again_and_again),
        cmocka_unit_test(without_an_interval_there_is_no_thread),
        cmocka_unit_test(signals_stay_with_the_serving_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

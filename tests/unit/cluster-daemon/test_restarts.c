/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "cluster/daemon/restarts.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MS     HUB_MILLISECOND
#define SECOND HUB_SECOND
#define BEGIN  (1000 * SECOND)

static const struct daemon_restarts_options defaults = {.reset_after_ns = 10 * SECOND,
                                                        .period_ns = 60 * SECOND,
                                                        .backoff_initial_ns = 100 * MS,
                                                        .backoff_max_ns = 5 * SECOND,
                                                        .deaths_max = 5};
static const struct hub_exit killed = {CLD_KILLED, SIGKILL}, failed = {CLD_EXITED, 3},
                             ended = {CLD_EXITED, 0};

static struct daemon_restarts begin(void)
{
    struct daemon_restarts restarts;

    daemon_restarts_init(&restarts, &defaults, BEGIN);
    assert_int_equal(daemon_restarts_next(&restarts, BEGIN), DAEMON_RESTARTS_START);
    daemon_restarts_on_begun(&restarts);
    return restarts;
}

/* The present life dies at this time; returns the delay before the next, which begins. */
static uint64_t die(struct daemon_restarts *restarts, uint64_t now_ns)
{
    uint64_t due_ns;

    assert_int_equal(daemon_restarts_on_died(restarts, &killed, now_ns), DAEMON_RESTARTS_CLEAR);
    assert_int_equal(daemon_restarts_next(restarts, HUB_NEVER), DAEMON_RESTARTS_WAIT);
    assert_int_equal(daemon_restarts_on_cleared(restarts), DAEMON_RESTARTS_WAIT);
    due_ns = restarts->due_ns;
    if (due_ns > now_ns)
        assert_int_equal(daemon_restarts_next(restarts, due_ns - 1), DAEMON_RESTARTS_WAIT);
    assert_int_equal(daemon_restarts_next(restarts, due_ns), DAEMON_RESTARTS_START);
    daemon_restarts_on_begun(restarts);
    return due_ns - now_ns;
}

/* r[verify cluster.warden.restart] */
static void a_daemon_that_served_for_long_is_started_again_at_once(void **state)
{
    struct daemon_restarts restarts = begin();
    uint64_t now_ns = BEGIN;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        daemon_restarts_on_ready(&restarts, now_ns);
        now_ns += 10 * SECOND;
        assert_int_equal(die(&restarts, now_ns), 0);
        assert_false(restarts.alarm);
    }
}

/* r[verify cluster.warden.restart] */
static void deaths_soon_after_the_start_are_followed_by_longer_delays(void **state)
{
    const uint64_t delays[] = {0, 100 * MS, 200 * MS, 400 * MS, 5 * SECOND, 5 * SECOND};
    struct daemon_restarts restarts = begin();
    uint64_t now_ns = BEGIN;

    (void)state;
    for (unsigned i = 0; i < sizeof delays / sizeof *delays; i++) {
        daemon_restarts_on_ready(&restarts, now_ns);
        now_ns += 10 * SECOND - 1;
        assert_int_equal(die(&restarts, now_ns), delays[i]);
        assert_int_equal(restarts.alarm, i >= 4);
        now_ns += delays[i];
    }
}

/* r[verify cluster.warden.restart] */
static void it_never_gives_up(void **state)
{
    struct daemon_restarts restarts = begin();
    uint64_t now_ns = BEGIN, delay = 0;

    (void)state;
    for (int i = 0; i < 2000; i++)
        now_ns += delay = die(&restarts, now_ns + 1);
    assert_int_equal(delay, 5 * SECOND);
    assert_true(restarts.alarm);
    daemon_restarts_on_ready(&restarts, now_ns);
    assert_int_equal(die(&restarts, now_ns + 10 * SECOND), 0);
    assert_false(restarts.alarm);
    assert_int_equal(die(&restarts, now_ns + 10 * SECOND), 0); /* counted from the first again */
    assert_int_equal(die(&restarts, now_ns + 10 * SECOND), 100 * MS);
}

/* r[verify cluster.warden.restart] */
static void deaths_that_are_long_ago_do_not_count(void **state)
{
    struct daemon_restarts restarts = begin();
    uint64_t now_ns = BEGIN;

    (void)state;
    for (int i = 0; i < 100; i++) { /* it never was READY, and starts slowly */
        assert_int_equal(die(&restarts, now_ns), 0);
        now_ns += 60 * SECOND + 1;
    }
    assert_int_equal(die(&restarts, now_ns), 0);
    assert_int_equal(die(&restarts, now_ns + 60 * SECOND), 100 * MS);
}

/* r[verify cluster.warden.restart] */
static void the_delay_is_never_longer_than_the_longest(void **state)
{
    struct daemon_restarts_options options = defaults;
    struct daemon_restarts restarts;
    uint64_t delay = 0;

    (void)state;
    options.deaths_max = DAEMON_RESTARTS_DEATHS;
    options.period_ns = HUB_NEVER;
    daemon_restarts_init(&restarts, &options, BEGIN);
    daemon_restarts_on_begun(&restarts);
    for (uint64_t i = 0; i < 3 * DAEMON_RESTARTS_DEATHS; i++) {
        uint64_t next = die(&restarts, BEGIN + i);

        assert_true(next >= delay && next <= 5 * SECOND);
        assert_int_equal(restarts.alarm, i + 1 >= DAEMON_RESTARTS_DEATHS);
        delay = next;
    }
    assert_int_equal(delay, 5 * SECOND);
}

/* r[verify cluster.warden.restart] */
static void a_process_that_cannot_be_made_is_tried_again(void **state)
{
    struct daemon_restarts restarts;

    (void)state;
    daemon_restarts_init(&restarts, &defaults, BEGIN);
    daemon_restarts_on_failed(&restarts, BEGIN);
    assert_int_equal(daemon_restarts_next(&restarts, BEGIN), DAEMON_RESTARTS_START);
    daemon_restarts_on_failed(&restarts, BEGIN);
    assert_int_equal(daemon_restarts_next(&restarts, BEGIN), DAEMON_RESTARTS_WAIT);
    assert_int_equal(daemon_restarts_next(&restarts, BEGIN + 100 * MS), DAEMON_RESTARTS_START);
    assert_int_equal(daemon_restarts_on_stop(&restarts), DAEMON_RESTARTS_END);
}

/* r[verify cluster.warden.ends] */
static void it_ends_with_a_daemon_that_ended_by_itself(void **state)
{
    struct daemon_restarts restarts = begin();

    (void)state;
    daemon_restarts_on_ready(&restarts, BEGIN);
    assert_int_equal(daemon_restarts_on_died(&restarts, &ended, BEGIN + 1), DAEMON_RESTARTS_CLEAR);
    assert_int_equal(daemon_restarts_next(&restarts, HUB_NEVER), DAEMON_RESTARTS_WAIT);
    assert_int_equal(daemon_restarts_on_cleared(&restarts), DAEMON_RESTARTS_END);
    assert_int_equal(daemon_restarts_next(&restarts, BEGIN + 2), DAEMON_RESTARTS_END);
    assert_int_equal(restarts.status, 0);
}

/* r[verify cluster.warden.ends] */
static void it_ends_with_a_first_daemon_that_could_not_serve(void **state)
{
    struct daemon_restarts restarts = begin();

    (void)state;
    (void)daemon_restarts_on_died(&restarts, &failed, BEGIN + 1);
    assert_int_equal(daemon_restarts_on_cleared(&restarts), DAEMON_RESTARTS_END);
    assert_int_equal(restarts.status, 3);

    restarts = begin(); /* but a crash says nothing, and a later life is tried again */
    (void)die(&restarts, BEGIN + 1);
    (void)daemon_restarts_on_died(&restarts, &failed, BEGIN + 2);
    assert_int_equal(daemon_restarts_on_cleared(&restarts), DAEMON_RESTARTS_WAIT);

    restarts = begin();
    daemon_restarts_on_ready(&restarts, BEGIN);
    (void)daemon_restarts_on_died(&restarts, &failed, BEGIN + 2);
    assert_int_equal(daemon_restarts_on_cleared(&restarts), DAEMON_RESTARTS_WAIT);
}

/* r[verify cluster.warden.signals] */
static void a_daemon_that_was_asked_to_end_is_the_last(void **state)
{
    const struct hub_exit *const ways[] = {&killed, &failed, &ended};
    const int statuses[] = {128 + SIGKILL, 3, 0};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct daemon_restarts restarts = begin();

        if (i >= 3)
            daemon_restarts_on_ready(&restarts, BEGIN);
        assert_int_equal(daemon_restarts_on_stop(&restarts), DAEMON_RESTARTS_FORWARD);
        assert_int_equal(daemon_restarts_on_stop(&restarts), DAEMON_RESTARTS_FORWARD);
        daemon_restarts_on_ready(&restarts, BEGIN); /* too late to matter */
        assert_int_equal(restarts.state, DAEMON_RESTARTS_STOPPING);
        (void)daemon_restarts_on_died(&restarts, ways[i % 3], BEGIN + 1);
        assert_int_equal(daemon_restarts_on_cleared(&restarts), DAEMON_RESTARTS_END);
        assert_int_equal(restarts.status, statuses[i % 3]);
    }
}

/* r[verify cluster.warden.signals] */
static void without_a_daemon_it_ends_once_all_children_are_dead(void **state)
{
    struct daemon_restarts restarts = begin();

    (void)state;
    (void)daemon_restarts_on_died(&restarts, &killed, BEGIN + 1);
    assert_int_equal(daemon_restarts_on_stop(&restarts), DAEMON_RESTARTS_WAIT);
    assert_int_equal(daemon_restarts_next(&restarts, HUB_NEVER), DAEMON_RESTARTS_WAIT);
    assert_int_equal(daemon_restarts_on_cleared(&restarts), DAEMON_RESTARTS_END);
    assert_int_equal(daemon_restarts_on_stop(&restarts), DAEMON_RESTARTS_END);
    assert_int_equal(restarts.status, 0);

    daemon_restarts_init(&restarts, &defaults, BEGIN);
    assert_int_equal(daemon_restarts_on_stop(&restarts), DAEMON_RESTARTS_END);
    assert_int_equal(daemon_restarts_next(&restarts, BEGIN), DAEMON_RESTARTS_END);
}

/* One event at random; checks what must hold after any. */
static void step(struct daemon_restarts *restarts, uint64_t now_ns)
{
    const struct hub_exit how = {rand() % 2 ? CLD_KILLED : CLD_EXITED, 1 + rand() % 9};
    bool lives = restarts->state == DAEMON_RESTARTS_STARTING ||
                 restarts->state == DAEMON_RESTARTS_SERVING ||
                 restarts->state == DAEMON_RESTARTS_STOPPING;

    if (daemon_restarts_next(restarts, now_ns) == DAEMON_RESTARTS_START) {
        assert_false(lives || restarts->ends);
        if (rand() % 8)
            daemon_restarts_on_begun(restarts);
        else
            daemon_restarts_on_failed(restarts, now_ns);
    } else if (lives && rand() % 2) {
        daemon_restarts_on_ready(restarts, now_ns);
    } else if (lives) {
        (void)daemon_restarts_on_died(restarts, &how, now_ns);
    } else if (restarts->state == DAEMON_RESTARTS_CLEARING) {
        (void)daemon_restarts_on_cleared(restarts);
    }
    if (rand() % 500 == 0 && restarts->state != DAEMON_RESTARTS_ENDED) {
        bool forward = daemon_restarts_on_stop(restarts) == DAEMON_RESTARTS_FORWARD;

        assert_int_equal(forward, restarts->state == DAEMON_RESTARTS_STOPPING);
    }
    assert_true(restarts->count <= restarts->options.deaths_max);
    if (restarts->state == DAEMON_RESTARTS_WAITING)
        assert_true(restarts->due_ns <= now_ns + restarts->options.backoff_max_ns);
}

/* r[verify cluster.warden.restart] */
static void whatever_happens_it_goes_on_until_it_is_asked_to_end(void **state)
{
    (void)state;
    srand(16);
    for (int i = 0; i < 2000; i++) {
        struct daemon_restarts restarts;
        uint64_t now_ns = BEGIN;

        daemon_restarts_init(&restarts, &defaults, BEGIN);
        for (int n = 0; n < 300 && restarts.state != DAEMON_RESTARTS_ENDED; n++) {
            step(&restarts, now_ns);
            now_ns += (uint64_t)(rand() % 4) * 4 * SECOND;
        }
        assert_true(restarts.ends || restarts.state != DAEMON_RESTARTS_ENDED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_daemon_that_served_for_long_is_started_again_at_once),
        cmocka_unit_test(deaths_soon_after_the_start_are_followed_by_longer_delays),
        cmocka_unit_test(it_never_gives_up),
        cmocka_unit_test(deaths_that_are_long_ago_do_not_count),
        cmocka_unit_test(the_delay_is_never_longer_than_the_longest),
        cmocka_unit_test(a_process_that_cannot_be_made_is_tried_again),
        cmocka_unit_test(it_ends_with_a_daemon_that_ended_by_itself),
        cmocka_unit_test(it_ends_with_a_first_daemon_that_could_not_serve),
        cmocka_unit_test(a_daemon_that_was_asked_to_end_is_the_last),
        cmocka_unit_test(without_a_daemon_it_ends_once_all_children_are_dead),
        cmocka_unit_test(whatever_happens_it_goes_on_until_it_is_asked_to_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

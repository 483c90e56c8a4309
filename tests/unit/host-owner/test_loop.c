/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/owner/loop.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

struct seen {
    struct host_loop loop;
    struct host_watch first, second;
    struct host_timer timer, other;
    unsigned count;
    bool end_both, set_timer;
};

static void on_event(void *user, uint32_t events)
{
    struct seen *seen = user;
    uint64_t value;

    assert_true(events & EPOLLIN);
    seen->count++;
    if (seen->set_timer)
        host_loop_set(&seen->loop, &seen->timer, hub_clock_after(1));
    if (seen->end_both) {
        host_loop_unwatch(&seen->loop, &seen->first);
        host_loop_unwatch(&seen->loop, &seen->second);
        return;
    }
    (void)!read(seen->first.fd, &value, sizeof value);
    (void)!read(seen->second.fd, &value, sizeof value);
}

static void on_timer(void *user)
{
    ((struct seen *)user)->count++;
}

static void set_up(struct seen *seen)
{
    *seen = (struct seen){0};
    assert_int_equal(host_loop_init(&seen->loop, 4), 0);
    seen->first = (struct host_watch){eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), on_event, seen, 0};
    seen->second = (struct host_watch){eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), on_event, seen, 0};
    assert_int_equal(host_loop_watch(&seen->loop, &seen->first, EPOLLIN), 0);
    assert_int_equal(host_loop_watch(&seen->loop, &seen->second, EPOLLIN), 0);
    seen->timer = (struct host_timer){.on = on_timer, .user = seen};
    seen->other = (struct host_timer){.on = on_timer, .user = seen};
}

static void tear_down(struct seen *seen)
{
    host_loop_unwatch(&seen->loop, &seen->first);
    host_loop_unwatch(&seen->loop, &seen->second);
    close(seen->first.fd);
    close(seen->second.fd);
    host_loop_fini(&seen->loop);
}

static bool is_readable(const struct seen *seen, int timeout_ms)
{
    struct pollfd loop = {.fd = seen->loop.epoll, .events = POLLIN};

    return poll(&loop, 1, timeout_ms) == 1;
}

static void ring(const struct host_watch *watch)
{
    const uint64_t one = 1;

    assert_int_equal(write(watch->fd, &one, sizeof one), sizeof one);
}

static void a_descriptor_that_is_ready_is_handled(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    assert_int_equal(host_loop_turn(&seen.loop, 0), 0);
    ring(&seen.first);
    assert_int_equal(host_loop_turn(&seen.loop, 1000), 1);
    assert_int_equal(seen.count, 1);
    tear_down(&seen);
}

/* A watch that the first handler ended is not handled in the same turn. */
static void a_watch_that_ended_meanwhile_is_left_out(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    seen.end_both = true;
    ring(&seen.first);
    ring(&seen.second);
    assert_int_equal(host_loop_turn(&seen.loop, 1000), 1);
    assert_int_equal(seen.count, 1);
    tear_down(&seen);
}

static void a_timer_makes_the_descriptor_readable(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    host_loop_set(&seen.loop, &seen.other, hub_clock_after(60 * HUB_SECOND));
    host_loop_arm(&seen.loop);
    assert_false(is_readable(&seen, 0));
    host_loop_set(&seen.loop, &seen.timer, hub_clock_after(5 * HUB_MILLISECOND));
    host_loop_arm(&seen.loop);
    assert_true(is_readable(&seen, 10000));
    assert_int_equal(host_loop_turn(&seen.loop, 0), 1);
    assert_int_equal(seen.count, 1);
    host_loop_clear(&seen.other);
    host_loop_arm(&seen.loop);
    assert_false(is_readable(&seen, 0));
    tear_down(&seen);
}

/* Between the two turns what came of the event is told: first a death, then the next life. */
static void a_timer_that_an_event_sets_for_now_waits_for_the_next_turn(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    seen.set_timer = true;
    ring(&seen.first);
    assert_int_equal(host_loop_turn(&seen.loop, 1000), 1);
    assert_int_equal(seen.count, 1);
    assert_true(host_loop_is_set(&seen.timer));
    assert_int_equal(host_loop_turn(&seen.loop, 1000), 1);
    assert_int_equal(seen.count, 2);
    tear_down(&seen);
}

static void a_cleared_timer_does_not_run(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    host_loop_set(&seen.loop, &seen.timer, 1);
    assert_true(host_loop_is_set(&seen.timer));
    host_loop_clear(&seen.timer);
    assert_false(host_loop_is_set(&seen.timer));
    assert_int_equal(host_loop_turn(&seen.loop, 0), 0);
    host_loop_clear(&seen.timer);
    host_loop_set(&seen.loop, &seen.timer, HUB_NEVER);
    assert_false(host_loop_is_set(&seen.timer));
    tear_down(&seen);
}

static void a_wake_ends_the_wait_once(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    host_loop_wake(&seen.loop);
    host_loop_wake(&seen.loop);
    assert_true(is_readable(&seen, 0));
    assert_int_equal(host_loop_turn(&seen.loop, 10000), 0);
    assert_false(is_readable(&seen, 0));
    host_loop_wake(&seen.loop);
    assert_true(is_readable(&seen, 0));
    tear_down(&seen);
}

static void too_many_watches_are_refused(void **state)
{
    struct host_watch more[4];
    struct seen seen;
    int r = 0;

    (void)state;
    set_up(&seen);
    for (int i = 0; i < 4; i++) {
        more[i] = (struct host_watch){dup(seen.first.fd), on_event, &seen, 0};
        r = host_loop_watch(&seen.loop, &more[i], EPOLLIN);
    }
    assert_true(r < 0);
    for (int i = 0; i < 4; i++) {
        host_loop_unwatch(&seen.loop, &more[i]);
        close(more[i].fd);
    }
    tear_down(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_that_is_ready_is_handled),
        cmocka_unit_test(a_watch_that_ended_meanwhile_is_left_out),
        cmocka_unit_test(a_timer_makes_the_descriptor_readable),
        cmocka_unit_test(a_timer_that_an_event_sets_for_now_waits_for_the_next_turn),
        cmocka_unit_test(a_cleared_timer_does_not_run),
        cmocka_unit_test(a_wake_ends_the_wait_once),
        cmocka_unit_test(too_many_watches_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

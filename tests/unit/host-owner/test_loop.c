/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <rapahub/error.h>

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

/* A program that is started inherits none of them, and no read of them waits. */
static void its_descriptors_are_its_own_and_never_wait(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    assert_int_equal(fcntl(seen.loop.epoll, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(seen.loop.timer, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(seen.loop.bell, F_GETFD), FD_CLOEXEC);
    assert_true(fcntl(seen.loop.timer, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(seen.loop.bell, F_GETFL) & O_NONBLOCK);
    tear_down(&seen);
    assert_int_equal(seen.loop.epoll, -1);
    assert_int_equal(seen.loop.timer, -1);
    assert_int_equal(seen.loop.bell, -1);
    host_loop_fini(&seen.loop);
}

/* The next number that a descriptor gets is `next`; no more than `more` of them may be opened. */
static int init_with(struct host_loop *loop, rlim_t more)
{
    struct rlimit before, less;
    int r, next = dup(STDERR_FILENO);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    less = before;
    less.rlim_cur = (rlim_t)next + more;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    r = host_loop_init(loop, 4);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return r;
}

static void without_descriptors_there_is_no_loop_and_nothing_is_left(void **state)
{
    struct host_loop loop;

    (void)state;
    for (rlim_t more = 0; more < 3; more++) {
        assert_int_equal(init_with(&loop, more), -EMFILE);
        assert_string_equal(rapahub_last_error()->text, "cannot make the host's loop");
        assert_int_equal(loop.epoll, -1);
        assert_int_equal(loop.timer, -1);
        assert_int_equal(loop.bell, -1);
    }
    assert_int_equal(init_with(&loop, 3), 0);
    host_loop_fini(&loop);
}

static void a_watch_that_has_ended_is_not_looked_at_and_may_begin_again(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    ring(&seen.first);
    host_loop_unwatch(&seen.loop, &seen.first);
    host_loop_unwatch(&seen.loop, &seen.first);
    assert_int_equal(seen.first.number, 0);
    assert_false(is_readable(&seen, 0));
    assert_int_equal(host_loop_turn(&seen.loop, 0), 0);
    assert_int_equal(host_loop_watch(&seen.loop, &seen.first, EPOLLIN), 0);
    assert_int_equal(host_loop_turn(&seen.loop, 1000), 1);
    assert_int_equal(seen.count, 1);
    tear_down(&seen);
}

/* A refused watch takes no place: others find theirs. */
static void what_cannot_be_watched_takes_no_place(void **state)
{
    struct host_watch none = {.fd = -1, .on = on_event};
    struct seen seen;

    (void)state;
    set_up(&seen);
    for (int i = 0; i < 20; i++)
        assert_int_equal(host_loop_watch(&seen.loop, &none, EPOLLIN), -EBADF);
    assert_int_equal(none.number, 0);
    for (int i = 0; i < 20; i++) {
        struct host_watch more = {dup(seen.first.fd), on_event, &seen, 0};

        assert_int_equal(host_loop_watch(&seen.loop, &more, EPOLLIN), 0);
        host_loop_unwatch(&seen.loop, &more);
        close(more.fd);
    }
    tear_down(&seen);
}

#define BATCH 64 /* of a turn */

struct bell {
    struct host_timer timer;
    unsigned number, *next;
};

static void on_bell(void *user)
{
    struct bell *bell = user;

    assert_int_equal(bell->number, (*bell->next)++);
}

/* So that one turn ends however many there are. */
static void of_many_timers_some_run_in_each_turn_in_their_order(void **state)
{
    static struct bell bells[2 * BATCH + 1];
    unsigned next = 0;
    struct seen seen;

    (void)state;
    set_up(&seen);
    for (unsigned i = 0; i < sizeof bells / sizeof *bells; i++) {
        bells[i] = (struct bell){{.on = on_bell, .user = &bells[i]}, i, &next};
        host_loop_set(&seen.loop, &bells[i].timer, 1);
    }
    assert_int_equal(host_loop_turn(&seen.loop, 0), BATCH);
    assert_int_equal(next, BATCH);
    assert_int_equal(host_loop_run_timers(&seen.loop), BATCH);
    assert_int_equal(host_loop_run_timers(&seen.loop), 1);
    assert_int_equal(host_loop_run_timers(&seen.loop), 0);
    tear_down(&seen);
}

static void a_timer_that_is_set_again_runs_once_at_its_last_time(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    host_loop_set(&seen.loop, &seen.timer, 1);
    host_loop_set(&seen.loop, &seen.timer, hub_clock_after(60 * HUB_SECOND));
    assert_int_equal(host_loop_turn(&seen.loop, 0), 0);
    host_loop_set(&seen.loop, &seen.timer, 0); /* long ago */
    host_loop_set(&seen.loop, &seen.timer, 0);
    host_loop_arm(&seen.loop);
    assert_true(is_readable(&seen, 10000));
    assert_int_equal(host_loop_turn(&seen.loop, 0), 1);
    assert_int_equal(host_loop_turn(&seen.loop, 0), 0);
    assert_int_equal(seen.count, 1);
    assert_false(is_readable(&seen, 0));
    tear_down(&seen);
}

/* A caller that only polls the descriptor learns of the next timer by it. */
static void a_turn_sets_the_descriptor_to_the_next_timer(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    host_loop_set(&seen.loop, &seen.timer, 1);
    host_loop_set(&seen.loop, &seen.other, 2 + hub_clock_after(60 * HUB_SECOND));
    assert_int_equal(host_loop_turn(&seen.loop, 10000), 1);
    assert_false(seen.loop.handling);
    host_loop_arm(&seen.loop);
    assert_false(is_readable(&seen, 0));
    host_loop_set(&seen.loop, &seen.other, 1);
    host_loop_arm(&seen.loop);
    assert_true(is_readable(&seen, 10000));
    host_loop_clear(&seen.other);
    tear_down(&seen);
}

static void on_event_that_looks(void *user, uint32_t events)
{
    struct seen *seen = user;

    (void)events;
    assert_true(seen->loop.handling);
    on_event(user, EPOLLIN);
}

static void only_while_it_hands_out_a_turn_is_handling(void **state)
{
    struct seen seen;

    (void)state;
    set_up(&seen);
    seen.first.on = on_event_that_looks;
    seen.loop.handling = true;
    ring(&seen.first);
    assert_int_equal(host_loop_turn(&seen.loop, 1000), 1);
    assert_false(seen.loop.handling);
    tear_down(&seen);
}

static void on_signal(int number)
{
    (void)number;
}

static void a_signal_ends_a_turn_and_is_no_failure(void **state)
{
    const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {0};
    struct sigaction action = {.sa_handler = on_signal}, before;
    struct seen seen;

    (void)state;
    set_up(&seen);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_int_equal(host_loop_turn(&seen.loop, 60000), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    tear_down(&seen);
}

static void a_loop_that_cannot_wait_says_so(void **state)
{
    struct seen seen;
    int epoll;

    (void)state;
    set_up(&seen);
    epoll = seen.loop.epoll;
    seen.loop.epoll = -1;
    assert_int_equal(host_loop_turn(&seen.loop, 0), -EBADF);
    assert_string_equal(rapahub_last_error()->text, "cannot wait for the host's descriptors");
    seen.loop.epoll = epoll;
    tear_down(&seen);
}

/* A bell that cannot be rung is not taken for one that is. */
static void a_wake_that_fails_is_tried_again(void **state)
{
    struct seen seen;
    int bell;

    (void)state;
    set_up(&seen);
    bell = seen.loop.bell;
    seen.loop.bell = -1;
    host_loop_wake(&seen.loop);
    assert_false(is_readable(&seen, 0));
    seen.loop.bell = bell;
    errno = EINTR; /* of something before */
    host_loop_wake(&seen.loop);
    assert_true(is_readable(&seen, 0));
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
        cmocka_unit_test(its_descriptors_are_its_own_and_never_wait),
        cmocka_unit_test(without_descriptors_there_is_no_loop_and_nothing_is_left),
        cmocka_unit_test(a_watch_that_has_ended_is_not_looked_at_and_may_begin_again),
        cmocka_unit_test(what_cannot_be_watched_takes_no_place),
        cmocka_unit_test(of_many_timers_some_run_in_each_turn_in_their_order),
        cmocka_unit_test(a_timer_that_is_set_again_runs_once_at_its_last_time),
        cmocka_unit_test(a_turn_sets_the_descriptor_to_the_next_timer),
        cmocka_unit_test(only_while_it_hands_out_a_turn_is_handling),
        cmocka_unit_test(a_signal_ends_a_turn_and_is_no_failure),
        cmocka_unit_test(a_loop_that_cannot_wait_says_so),
        cmocka_unit_test(a_wake_that_fails_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"

#define BATCH 64 /* events received in one turn */
#define RUNG  0  /* value of `armed_ns` with which no timer is due */

enum { NUMBER_BELL = 1, NUMBER_TIMER, NUMBER_FIRST };

static int add(struct host_loop *loop, int fd, uint64_t number, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.u64 = number}};

    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int host_loop_init(struct host_loop *loop, uint32_t watches)
{
    int r = 0;

    *loop = (struct host_loop){.epoll = -1, .timer = -1, .bell = -1, .numbers = NUMBER_FIRST};
    loop->armed_ns = HUB_NEVER;
    hub_list_init(&loop->timers);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll >= 0)
        loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->timer >= 0)
        loop->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->bell < 0)
        r = -errno;
    if (r == 0)
        r = add(loop, loop->bell, NUMBER_BELL, EPOLLIN);
    if (r == 0)
        r = add(loop, loop->timer, NUMBER_TIMER, EPOLLIN);
    if (r == 0)
        r = hub_id_map_create(watches, &loop->watches);
    if (r < 0) {
        host_loop_fini(loop);
        return rapahub_fail(r, "", "cannot make the host's loop");
    }
    return 0;
}

void host_loop_fini(struct host_loop *loop)
{
    hub_id_map_release(&loop->watches);
    hub_fd_release(&loop->bell);
    hub_fd_release(&loop->timer);
    hub_fd_release(&loop->epoll);
}

int host_loop_watch(struct host_loop *loop, struct host_watch *watch, uint32_t events)
{
    uint64_t number = loop->numbers++;
    int r = hub_id_map_put(loop->watches, number, watch);

    if (r == 0) {
        r = add(loop, watch->fd, number, events);
        if (r < 0)
            hub_id_map_remove(loop->watches, number);
    }
    if (r < 0)
        return rapahub_fail(r, "", "cannot watch a descriptor of a guest");
    watch->number = number;
    return 0;
}

void host_loop_unwatch(struct host_loop *loop, struct host_watch *watch)
{
    if (watch->number == 0)
        return;
    hub_id_map_remove(loop->watches, watch->number);
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->number = 0;
}

void host_loop_set(struct host_loop *loop, struct host_timer *timer, uint64_t due_ns)
{
    host_loop_clear(timer);
    timer->due_ns = due_ns;
    loop->moved = true;
    if (due_ns != HUB_NEVER)
        hub_list_append(&loop->timers, &timer->link);
}

void host_loop_clear(struct host_timer *timer)
{
    if (timer->link.next)
        hub_list_remove(&timer->link);
}

bool host_loop_is_set(const struct host_timer *timer)
{
    return timer->link.next && !hub_list_empty(&timer->link);
}

__attribute__((noinline)) void host_loop_wake(struct host_loop *loop)
{
    static const uint64_t one = 1;
    ssize_t n = 0;

    if (hub_exchange(&loop->woken, 1) != 0)
        return;
    do
        n = write(loop->bell, &one, sizeof one);
    /* otherwise the loop would not check before its next deadline */
    while (n < 0 && errno == EINTR);
    if (n < 0)
        hub_publish(&loop->woken, 0);
}

static void drain(int fd)
{
    uint64_t count;

    (void)!read(fd, &count, sizeof count);
}

static int handle(struct host_loop *loop, const struct epoll_event *event)
{
    struct host_watch *watch;

    if (event->data.u64 == NUMBER_BELL) {
        drain(loop->bell);
        hub_exchange(&loop->woken, 0);
        return 0;
    }
    if (event->data.u64 == NUMBER_TIMER) { /* when it is set again, it is no longer readable */
        loop->armed_ns = RUNG;
        loop->moved = true;
        return 0;
    }
    watch = hub_id_map_get(loop->watches, event->data.u64);
    if (!watch)
        return 0;
    watch->on(watch->user, event->events);
    return 1;
}

static struct host_timer *next_timer(struct host_loop *loop)
{
    struct host_timer *next = NULL;

    HUB_LIST_EACH (&loop->timers, link) {
        struct host_timer *timer = HUB_LIST_ITEM(link, struct host_timer, link);

        if (!next || timer->due_ns < next->due_ns)
            next = timer;
    }
    return next;
}

/* Runs the timers that were due when the turn's events came. A timer set meanwhile for now does not
 * run at once: the end of a guest is reported before its next life starts, which takes long. */
static int run_timers(struct host_loop *loop, uint64_t now)
{
    struct host_timer *timer = next_timer(loop);
    int count = 0;

    for (; timer && timer->due_ns <= now && count < BATCH; timer = next_timer(loop)) {
        host_loop_clear(timer);
        timer->on(timer->user);
        count++;
    }
    return count;
}

int host_loop_run_timers(struct host_loop *loop)
{
    return run_timers(loop, hub_clock_now());
}

/* A timer that was cleared wakes the loop once without need. */
void host_loop_arm_anew(struct host_loop *loop)
{
    struct itimerspec setting = {{0, 0}, {0, 0}};
    struct host_timer *timer;
    uint64_t due;

    timer = next_timer(loop);
    due = timer ? timer->due_ns : HUB_NEVER;
    loop->moved = due != loop->armed_ns;
    if (!loop->moved)
        return;
    if (due != HUB_NEVER)
        setting.it_value = hub_clock_timespec(due > 0 ? due : 1);
    if (timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &setting, NULL) < 0)
        return;
    loop->armed_ns = due;
    loop->moved = false;
}

int host_loop_turn(struct host_loop *loop, int timeout_ms)
{
    struct epoll_event events[BATCH];
    uint64_t now;
    int n, count = 0;

    loop->handling = false;
    host_loop_arm(loop);
    n = epoll_wait(loop->epoll, events, BATCH, timeout_ms);
    now = hub_clock_now();
    if (n < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait for the host's descriptors");
    loop->handling = true;
    for (int i = 0; i < n; i++)
        count += handle(loop, &events[i]);
    count += run_timers(loop, now);
    loop->handling = false;
    return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* An eventfd stands for the pidfd of each life, and becomes readable when that life ends. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "host/owner/lookout.h"
#include "tests/support/pause.h"
#include "tests/unit/link/pair.h"

static struct hub_a32 modified; /* epoll_ctl of a descriptor that is registered already */
static struct hub_a32 fails;    /* whether that fails */

int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    hub_add(&modified, operation == EPOLL_CTL_MOD);
    if (operation == EPOLL_CTL_MOD && hub_observe(&fails) != 0) {
        errno = ENOMEM;
        return -1;
    }
    return __real_epoll_ctl(epoll, operation, fd, event);
}

static struct hub_a64
    beyond; /* what lies in the memory after the events that are there; 0: as it is */

int __real_epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms)
{
    int n = __real_epoll_wait(epoll, events, max, timeout_ms);
    uint64_t number = hub_observe64(&beyond);

    if (n >= 0 && n < max && number != 0)
        events[n].data.u64 = number;
    return n;
}

struct life {
    struct pair pair;
    struct host_post post;
};

struct rig {
    struct host_lookout lookout;
    int loop, event; /* the owner's loop, and all that it waits for */
    struct life lives[2];
};

static void begin_life(struct life *life)
{
    const struct hub_limits limits = pair_limits();

    pair_open(&life->pair, &limits, 0);
    life->post.connection = &life->pair.host.connection;
    life->post.pidfd = eventfd(0, EFD_CLOEXEC);
    assert_true(life->post.pidfd >= 0);
}

static void end_life(struct life *life)
{
    close(life->post.pidfd);
    pair_close(&life->pair);
}

static struct rig *open_rig(uint32_t posts)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct rig *rig = test_calloc(1, sizeof *rig);

    rig->loop = epoll_create1(EPOLL_CLOEXEC);
    rig->event = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(epoll_ctl(rig->loop, EPOLL_CTL_ADD, rig->event, &event), 0);
    assert_int_equal(host_lookout_open(&rig->lookout, rig->loop, posts), 0);
    begin_life(&rig->lives[0]);
    begin_life(&rig->lives[1]);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_lookout_forget(&rig->lookout, &rig->lives[0].post);
    host_lookout_forget(&rig->lookout, &rig->lives[1].post);
    host_lookout_close(&rig->lookout);
    end_life(&rig->lives[0]);
    end_life(&rig->lives[1]);
    close(rig->event);
    close(rig->loop);
    test_free(rig);
}

static void until(const struct hub_a32 *word, uint32_t value)
{
    uint64_t deadline = hub_clock_after(SOON);

    while (hub_observe(word) != value && hub_clock_left(deadline) != 0)
        pause_ms(1);
    assert_int_equal(hub_observe(word), value);
}

static const struct hub_a32 *hung_up(const struct rig *rig, int life)
{
    return &rig->lives[life].pair.host.connection.link->hung_up;
}

static const struct hub_a32 *stirred(const struct rig *rig, int life)
{
    return &rig->lives[life].pair.host.connection.calls->stirred;
}

static void die(const struct rig *rig, int life)
{
    assert_int_equal(eventfd_write(rig->lives[life].post.pidfd, 1), 0);
}

static void the_end_of_a_life_is_hinted_to_its_own_link(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[1].post), 0);
    die(rig, 1);
    until(hung_up(rig, 1), 1);
    assert_int_equal(hub_observe(hung_up(rig, 0)), 0);
    close_rig(rig);
}

static void only_events_that_are_there_are_looked_at(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[1].post), 0);
    hub_publish64(&beyond, rig->lives[0].post.number);
    die(rig, 1);
    until(hung_up(rig, 1), 1);
    host_lookout_forget(&rig->lookout, &rig->lives[1].post);
    assert_int_equal(hub_observe(hung_up(rig, 0)), 0);
    close_rig(rig);
    hub_publish64(&beyond, 0);
}

/* Its memory may be freed. */
static void a_forgotten_life_is_not_touched_any_more(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    host_lookout_forget(&rig->lookout, &rig->lives[0].post);
    assert_true(rig->lives[0].post.number == 0);
    rig->lives[0].post.connection = NULL;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[1].post), 0);
    die(rig, 0);
    die(rig, 1);
    until(hung_up(rig, 1), 1);
    assert_int_equal(hub_observe(hung_up(rig, 0)), 0);
    close_rig(rig);
}

static void a_forgotten_life_can_be_watched_again(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    host_lookout_forget(&rig->lookout, &rig->lives[0].post);
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    die(rig, 0);
    until(hung_up(rig, 0), 1);
    close_rig(rig);
}

static void there_are_no_more_watches_than_places(void **state)
{
    struct rig *rig = open_rig(1);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[1].post), -ENOSPC);
    assert_true(rig->lives[1].post.number == 0);
    host_lookout_forget(&rig->lookout, &rig->lives[0].post);
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[1].post), 0);
    die(rig, 1);
    until(hung_up(rig, 1), 1);
    close_rig(rig);
}

static void a_life_that_cannot_be_watched_keeps_no_place(void **state)
{
    struct rig *rig = open_rig(1);
    int pidfd = rig->lives[0].post.pidfd;

    (void)state;
    rig->lives[0].post.pidfd = -1;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), -EBADF);
    rig->lives[0].post.pidfd = pidfd;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    close_rig(rig);
}

static void an_event_of_the_loop_ends_the_nap_on_a_link(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    assert_true(host_lookout_nap(&rig->lookout, &rig->lives[0].post));
    assert_int_equal(hub_observe(stirred(rig, 0)), 0);
    assert_int_equal(eventfd_write(rig->event, 1), 0);
    until(stirred(rig, 0), 1);
    assert_int_equal(hub_observe(&rig->lookout.told), 0);
    close_rig(rig);
}

static void an_event_of_the_loop_ends_the_nap_elsewhere(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    assert_true(host_lookout_nap(&rig->lookout, &rig->lives[0].post));
    assert_true(host_lookout_nap(&rig->lookout, NULL));
    assert_int_equal(eventfd_write(rig->event, 1), 0);
    until(&rig->lookout.told, 1);
    assert_int_equal(hub_observe(stirred(rig, 0)), 0);
    close_rig(rig);
}

/* An event that came before the nap, or that no turn has taken, is as good as a new one. */
static void an_event_that_is_still_there_ends_the_next_nap_too(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(eventfd_write(rig->event, 1), 0);
    assert_true(host_lookout_nap(&rig->lookout, NULL));
    until(&rig->lookout.told, 1);
    assert_true(host_lookout_nap(&rig->lookout, NULL));
    until(&rig->lookout.told, 2);
    close_rig(rig);
}

static void a_nap_without_an_event_since_the_last_needs_no_system_call(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    hub_store_relaxed(&modified, 0);
    assert_true(host_lookout_nap(&rig->lookout, NULL));
    assert_int_equal(hub_observe(&modified), 1);
    assert_true(host_lookout_nap(&rig->lookout, NULL));
    assert_true(host_lookout_nap(&rig->lookout, &rig->lives[0].post));
    assert_int_equal(hub_observe(&modified), 1);
    close_rig(rig);
}

static void a_forgotten_life_has_no_nap_that_an_event_could_end(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_int_equal(host_lookout_post(&rig->lookout, &rig->lives[0].post), 0);
    assert_true(host_lookout_nap(&rig->lookout, &rig->lives[0].post));
    host_lookout_forget(&rig->lookout, &rig->lives[0].post);
    rig->lives[0].post.connection = NULL;
    assert_int_equal(eventfd_write(rig->event, 1), 0);
    until(&rig->lookout.told, 1);
    close_rig(rig);
}

/* The owner must look by itself then. */
static void a_lookout_that_is_not_open_lets_nobody_nap(void **state)
{
    struct host_lookout lookout = {.open = false};
    struct host_post post = {.number = 0};

    (void)state;
    assert_false(host_lookout_nap(&lookout, &post));
    host_lookout_forget(&lookout, &post);
    host_lookout_close(&lookout);
}

static void a_closed_lookout_lets_nobody_nap(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    assert_true(host_lookout_nap(&rig->lookout, NULL));
    host_lookout_close(&rig->lookout);
    assert_false(host_lookout_nap(&rig->lookout, NULL));
    close_rig(rig);
}

static void a_lookout_without_a_loop_is_not_opened(void **state)
{
    struct host_lookout lookout;

    (void)state;
    assert_int_equal(host_lookout_open(&lookout, -1, 2), -EBADF);
    assert_false(lookout.open);
    host_lookout_close(&lookout);
}

/* It would sleep through all events otherwise, at the next nap as well. */
static void where_the_kernel_does_not_listen_nobody_naps(void **state)
{
    struct rig *rig = open_rig(2);

    (void)state;
    hub_publish(&fails, 1);
    assert_false(host_lookout_nap(&rig->lookout, NULL));
    assert_false(host_lookout_nap(&rig->lookout, NULL));
    hub_publish(&fails, 0);
    assert_true(host_lookout_nap(&rig->lookout, NULL));
    assert_int_equal(eventfd_write(rig->event, 1), 0);
    until(&rig->lookout.told, 1);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_life_is_hinted_to_its_own_link),
        cmocka_unit_test(only_events_that_are_there_are_looked_at),
        cmocka_unit_test(a_forgotten_life_is_not_touched_any_more),
        cmocka_unit_test(a_forgotten_life_can_be_watched_again),
        cmocka_unit_test(there_are_no_more_watches_than_places),
        cmocka_unit_test(a_life_that_cannot_be_watched_keeps_no_place),
        cmocka_unit_test(an_event_of_the_loop_ends_the_nap_on_a_link),
        cmocka_unit_test(an_event_of_the_loop_ends_the_nap_elsewhere),
        cmocka_unit_test(an_event_that_is_still_there_ends_the_next_nap_too),
        cmocka_unit_test(a_nap_without_an_event_since_the_last_needs_no_system_call),
        cmocka_unit_test(a_forgotten_life_has_no_nap_that_an_event_could_end),
        cmocka_unit_test(a_lookout_that_is_not_open_lets_nobody_nap),
        cmocka_unit_test(a_closed_lookout_lets_nobody_nap),
        cmocka_unit_test(a_lookout_without_a_loop_is_not_opened),
        cmocka_unit_test(where_the_kernel_does_not_listen_nobody_naps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

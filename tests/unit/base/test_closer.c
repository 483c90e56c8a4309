/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/closer.h"
#include "hub/base/own.h"
#include "tests/support/leak.h"
#include "tests/support/linger.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define SECONDS 20 /* that a close would last */
#define SOON    (2 * HUB_SECOND)
#define MS      HUB_MILLISECOND

struct place {
    struct leak *leak;
    struct hub_closer *closer;
    int ends[2];
    uint64_t start_ns;
};

static void begin(struct place *place, int type)
{
    place->leak = leak_begin();
    assert_int_equal(hub_closer_create(&place->closer), 0);
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, place->ends), 0);
    place->start_ns = hub_clock_now();
}

static void end(struct place *place)
{
    for (int i = 0; i < 2; i++)
        hub_fd_release(&place->ends[i]);
    hub_closer_release(&place->closer);
    leak_assert_none(place->leak);
}

static uint64_t spent(const struct place *place)
{
    return hub_clock_now() - place->start_ns;
}

/* A copy lies in the queue of ends[0], and nowhere else. */
static void fill(const struct place *place, unsigned copies, int *peer)
{
    int fd = linger_open(SECONDS, peer);

    assert_true(fd >= 0);
    assert_int_equal(linger_send(place->ends[1], fd, copies, 0), 0);
    close(fd);
}

/* r[verify hub.descriptor.elsewhere] */
static void who_gives_one_away_does_not_wait_for_its_end(void **state)
{
    struct place place;
    int peer, fd = linger_open(1, &peer);

    (void)state;
    begin(&place, SOCK_STREAM);
    hub_closer_give(place.closer, &fd);
    assert_int_equal(fd, -1);
    hub_closer_give(place.closer, &fd);
    assert_true(spent(&place) < 500 * MS);
    close(peer); /* this ends the wait */
    end(&place);
}

/* r[verify hub.descriptor.elsewhere] */
static void what_lies_in_a_queue_keeps_nobody_waiting(void **state)
{
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct place place;
        int peers[4];

        begin(&place, types[i]);
        for (size_t n = 0; n < 4; n++)
            fill(&place, (unsigned)(1 + n * 20), &peers[n]);
        hub_closer_give_end(place.closer, &place.ends[0]);
        assert_int_equal(place.ends[0], -1);
        hub_closer_release(&place.closer);
        assert_true(spent(&place) < SOON);
        for (size_t n = 0; n < 4; n++)
            close(peers[n]);
        end(&place);
    }
}

/* A slow close has its own time: its giver does not wait that long at its end. */
static void the_last_user_waits_a_second_at_most(void **state)
{
    int peer, fd = linger_open(SECONDS, &peer);
    struct hub_closer *other;
    struct place place;

    (void)state;
    begin(&place, SOCK_STREAM);
    other = hub_closer_hold(place.closer);
    hub_closer_give(place.closer, &fd);
    hub_closer_release(&other);
    assert_true(spent(&place) < 500 * MS);
    hub_closer_release(&place.closer);
    assert_in_range(spent(&place), 900 * MS, 3000 * MS);
    close(peer); /* the thread ends */
    end(&place);
}

/* Says whether the other end of the pair is gone. */
static bool is_gone(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};

    return poll(&end, 1, 0) == 1 && (end.revents & POLLRDHUP);
}

/* r[verify hub.descriptor.elsewhere] */
static void who_relies_on_it_waits_a_moment(void **state)
{
    int peer, fd = linger_open(SECONDS, &peer);
    struct place place;

    (void)state;
    begin(&place, SOCK_STREAM);
    hub_closer_settle(place.closer);
    hub_closer_give(place.closer, &place.ends[0]);
    hub_closer_settle(place.closer);
    assert_true(is_gone(place.ends[1]));
    hub_closer_give(place.closer, &fd);
    place.start_ns = hub_clock_now();
    for (int i = 0; i < 1000; i++)
        hub_closer_settle(place.closer);
    assert_in_range(spent(&place), 15 * MS, 2000 * MS);
    close(peer);
    end(&place);
}

/* r[verify hub.descriptor.elsewhere] */
static void beyond_the_bound_one_stays_open(void **state)
{
    int peer, blocks = linger_open(SECONDS, &peer), beyond, copy;
    struct place place;

    (void)state;
    begin(&place, SOCK_STREAM);
    hub_closer_give(place.closer, &blocks);
    pause_ms(100); /* its thread has taken that one */
    for (int i = 0; i < HUB_CLOSER_WAITING_MAX; i++) {
        int fd = fcntl(place.ends[0], F_DUPFD_CLOEXEC, 0);

        assert_true(fd >= 0);
        hub_closer_give(place.closer, &fd);
    }
    beyond = copy = fcntl(place.ends[0], F_DUPFD_CLOEXEC, 0);
    hub_closer_give(place.closer, &beyond);
    assert_int_equal(beyond, -1);
    close(peer);
    hub_closer_release(&place.closer);
    assert_true(fcntl(copy, F_GETFD) >= 0);
    close(copy);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_gives_one_away_does_not_wait_for_its_end),
        cmocka_unit_test(what_lies_in_a_queue_keeps_nobody_waiting),
        cmocka_unit_test(the_last_user_waits_a_second_at_most),
        cmocka_unit_test(who_relies_on_it_waits_a_moment),
        cmocka_unit_test(beyond_the_bound_one_stays_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

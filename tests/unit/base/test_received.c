/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/received.h"
#include "tests/support/leak.h"
#include "tests/support/linger.h"
#include "tests/support/testing.h"

#define SECONDS 20 /* that a close would last */

struct place {
    struct leak *leak;
    int ends[2];
    char bytes[16];
    struct hub_received received;
};

static void begin(struct place *place, int type)
{
    place->leak = leak_begin();
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, place->ends), 0);
    place->received = (struct hub_received){.bytes = place->bytes, .room = sizeof place->bytes};
}

static void drop(struct place *place)
{
    while (place->received.fds_count > 0)
        close(place->received.fds[--place->received.fds_count]);
}

static void end(struct place *place)
{
    close(place->ends[0]);
    close(place->ends[1]);
    leak_assert_none(place->leak);
}

static void bytes_come_up_to_the_first_descriptors(void **state)
{
    struct place place;

    (void)state;
    begin(&place, SOCK_STREAM);
    assert_int_equal(hub_received_take(place.ends[0], &place.received), -EAGAIN);
    assert_int_equal(send(place.ends[1], "abc", 3, 0), 3);
    assert_int_equal(linger_send(place.ends[1], place.ends[1], 3, 0), 0);
    assert_int_equal(send(place.ends[1], "de", 2, 0), 2);
    assert_int_equal(hub_received_take(place.ends[0], &place.received), 4);
    assert_memory_equal(place.bytes, "abc\1", 4);
    assert_int_equal(place.received.fds_count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_true(fcntl(place.received.fds[i], F_GETFD) & FD_CLOEXEC);
    drop(&place);
    assert_int_equal(hub_received_take(place.ends[0], &place.received), 2);
    assert_int_equal(place.received.fds_count, 0);
    assert_memory_equal(place.bytes, "de", 2);
    shutdown(place.ends[1], SHUT_WR);
    assert_int_equal(hub_received_take(place.ends[0], &place.received), 0);
    end(&place);
}

static void what_is_longer_than_there_is_room_is_told(void **state)
{
    struct place place;

    (void)state;
    begin(&place, SOCK_SEQPACKET);
    assert_int_equal(send(place.ends[1], "0123456789abcdefg", 17, 0), 17);
    assert_int_equal(send(place.ends[1], "next", 4, 0), 4);
    assert_int_equal(hub_received_take(place.ends[0], &place.received), 16);
    assert_true(place.received.flags & MSG_TRUNC);
    assert_int_equal(hub_received_take(place.ends[0], &place.received), 4);
    assert_false(place.received.flags & MSG_TRUNC);
    end(&place);
}

/* Numbers for one, and two come: neither is closed, by which this thread would wait.
 * r[verify hub.descriptor.elsewhere] */
static void without_numbers_a_message_stays_where_it_is(void **state)
{
    struct rlimit before, few;
    uint64_t start_ns;
    struct place place;
    int peer, fd = linger_open(SECONDS, &peer), next;

    (void)state;
    begin(&place, SOCK_STREAM);
    assert_int_equal(linger_send(place.ends[1], fd, 2, 0), 0);
    close(fd);
    next = dup(place.ends[0]);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)next + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    start_ns = hub_clock_now();
    for (int i = 0; i < 3; i++)
        assert_int_equal(hub_received_take(place.ends[0], &place.received), -ENFILE);
    assert_int_equal(place.received.fds_count, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(hub_received_take(place.ends[0], &place.received), 1);
    assert_true(hub_clock_now() - start_ns < 2 * HUB_SECOND);
    assert_int_equal(place.received.fds_count, 2);
    close(peer); /* so that to close it is soon done */
    drop(&place);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_up_to_the_first_descriptors),
        cmocka_unit_test(what_is_longer_than_there_is_room_is_told),
        cmocka_unit_test(without_numbers_a_message_stays_where_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

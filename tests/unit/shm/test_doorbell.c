/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/shm/doorbell.h"
#include "tests/support/leak.h"
#include "tests/support/linger.h"
#include "tests/support/testing.h"

static enum hub_heard drain(int fd)
{
    static const struct hub_doorbell_ear ear;

    return hub_doorbell_drain(fd, &ear);
}

static bool has_input(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    return poll(&poller, 1, 0) == 1 && (poller.revents & POLLIN);
}

/* r[verify shm.doorbell.socketpair] */
static void both_ends_are_close_on_exec_and_do_not_block(void **state)
{
    struct leak *leak = leak_begin();
    int ends[2], type;
    socklen_t size = sizeof(type);

    (void)state;
    assert_int_equal(hub_doorbell_create(&ends[0], &ends[1]), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(fcntl(ends[i], F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(ends[i], F_GETFL) & O_NONBLOCK);
        assert_int_equal(getsockopt(ends[i], SOL_SOCKET, SO_TYPE, &type, &size), 0);
        assert_int_equal(type, SOCK_STREAM);
    }
    close(ends[0]);
    close(ends[1]);
    leak_assert_none(leak);
}

/* r[verify shm.doorbell.signal] r[verify shm.doorbell.wait] */
static void a_ring_is_one_byte_and_a_drain_takes_all(void **state)
{
    int own, peer;
    char byte = 0;

    (void)state;
    assert_int_equal(hub_doorbell_create(&own, &peer), 0);
    assert_int_equal(drain(own), HUB_HEARD_BELLS);
    assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
    assert_int_equal(recv(own, &byte, 1, MSG_DONTWAIT), 1);
    assert_int_equal(byte, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
    assert_true(has_input(own));
    assert_int_equal(drain(own), HUB_HEARD_BELLS);
    assert_false(has_input(own));
    close(own);
    close(peer);
}

static void a_full_socket_counts_as_rung_and_never_blocks(void **state)
{
    int own, peer;
    ssize_t n;

    (void)state;
    assert_int_equal(hub_doorbell_create(&own, &peer), 0);
    do
        n = send(peer, "x", 1, MSG_DONTWAIT);
    while (n == 1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
    close(own);
    close(peer);
}

static void a_drain_ends_after_64_kib(void **state)
{
    static const char bytes[4096];
    int own, peer, size = 1 << 20;
    size_t sent = 0;
    ssize_t n;

    (void)state;
    assert_int_equal(hub_doorbell_create(&own, &peer), 0);
    assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    while ((n = send(peer, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        sent += (size_t)n;
    assert_true(sent > 65536);
    assert_int_equal(drain(own), HUB_HEARD_BELLS);
    assert_true(has_input(own));
    close(own);
    close(peer);
}

/* r[verify shm.doorbell.death] */
static void a_closed_end_is_gone_for_ring_and_drain(void **state)
{
    int own, peer;

    (void)state;
    assert_int_equal(hub_doorbell_create(&own, &peer), 0);
    assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
    close(peer);
    assert_int_equal(drain(own), HUB_HEARD_END);
    assert_int_equal(hub_doorbell_ring(own), HUB_BELL_GONE);
    close(own);
}

static void an_inherited_end_is_adopted(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(hub_doorbell_adopt(ends[0]), 0);
    assert_true(fcntl(ends[0], F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
    close(ends[0]);
    close(ends[1]);
}

static void what_is_no_socket_is_no_doorbell(void **state)
{
    int fd = eventfd(0, EFD_CLOEXEC);

    (void)state;
    assert_int_equal(hub_doorbell_adopt(fd), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "shm.doorbell.socketpair");
    close(fd);
    assert_int_equal(hub_doorbell_adopt(fd), RAPAHUB_EINVAL);
    assert_int_equal(hub_doorbell_adopt(-1), RAPAHUB_EINVAL);
}

static void an_empty_datagram_is_no_hang_up(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(hub_doorbell_adopt(ends[0]), 0);
    assert_int_equal(send(ends[1], "", 0, MSG_DONTWAIT), 0);
    assert_int_equal(send(ends[1], "x", 1, MSG_DONTWAIT), 1);
    assert_int_equal(drain(ends[0]), HUB_HEARD_BELLS);
    assert_false(has_input(ends[0]));
    close(ends[1]);
    assert_int_equal(hub_doorbell_ring(ends[0]), HUB_BELL_GONE);
    close(ends[0]);
}

/* A kernel before 6.16: nothing keeps descriptors away. */
static void unseal(int fd)
{
    static const int yes = 1;

    (void)setsockopt(fd, SOL_SOCKET, 83 /* SO_PASSRIGHTS */, &yes, sizeof yes);
    assert_false(hub_doorbell_is_sealed(fd));
}

/* r[verify hub.doorbell.descriptor] */
static void no_descriptor_can_be_sent_where_the_kernel_knows_how(void **state)
{
    static const struct hub_doorbell_ear sealed = {.sealed = true};
    struct leak *leak = leak_begin();
    int own, peer;

    (void)state;
    assert_int_equal(hub_doorbell_create(&own, &peer), 0);
    if (hub_doorbell_is_sealed(own)) {
        assert_int_equal(linger_send(peer, peer, 1, 0), -EPERM);
        assert_int_equal(linger_send(peer, peer, 1, MSG_OOB), -EPERM);
        assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
        assert_int_equal(hub_doorbell_drain(own, &sealed), HUB_HEARD_BELLS);
        assert_false(has_input(own));
    }
    assert_false(hub_doorbell_is_sealed(peer)); /* where the host sends memory */
    close(own);
    close(peer);
    leak_assert_none(leak);
}

/* With a byte of its own, after others, and with an urgent one: it is not received, for which this
 * thread would wait 20 s, and so is reported each time. r[verify hub.doorbell.descriptor] */
static void a_descriptor_that_nobody_wants_stays_where_it_is(void **state)
{
    static const int flags[] = {0, MSG_OOB};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct leak *leak = leak_begin();
        uint64_t start_ns = hub_clock_now();
        int own, peer, other, fd = linger_open(20, &other);

        assert_int_equal(hub_doorbell_create(&own, &peer), 0);
        unseal(own);
        for (int bells = 0; i >= 2 && bells < 100; bells++)
            (void)hub_doorbell_ring(peer);
        assert_int_equal(linger_send(peer, fd, 1, flags[i % 2]), 0);
        close(fd);
        assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
        for (int again = 0; again < 3; again++)
            assert_int_equal(drain(own), HUB_HEARD_DESCRIPTOR);
        assert_true(hub_clock_now() - start_ns < 2 * HUB_SECOND);
        close(other);
        close(own);
        close(peer);
        leak_assert_none(leak);
    }
}

static int interruptions; /* of the next sends */

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (interruptions == 0)
        return __real_sendmsg(fd, message, flags);
    interruptions--;
    errno = EINTR;
    return -1;
}

static void a_descriptor_that_a_signal_interrupts_is_sent_all_the_same(void **state)
{
    int own, peer;

    (void)state;
    assert_int_equal(hub_doorbell_create(&own, &peer), 0);
    interruptions = 1000000; /* for ever */
    assert_false(hub_doorbell_send(own, own));
    assert_in_range(interruptions, 1, 1000000 - 1);
    assert_false(has_input(peer));
    interruptions = 1;
    assert_true(hub_doorbell_send(own, own));
    assert_int_equal(interruptions, 0);
    assert_true(has_input(peer));
    assert_int_equal(drain(peer), HUB_HEARD_DESCRIPTOR);
    close(own);
    close(peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_are_close_on_exec_and_do_not_block),
        cmocka_unit_test(a_ring_is_one_byte_and_a_drain_takes_all),
        cmocka_unit_test(a_full_socket_counts_as_rung_and_never_blocks),
        cmocka_unit_test(a_drain_ends_after_64_kib),
        cmocka_unit_test(a_closed_end_is_gone_for_ring_and_drain),
        cmocka_unit_test(an_inherited_end_is_adopted),
        cmocka_unit_test(what_is_no_socket_is_no_doorbell),
        cmocka_unit_test(an_empty_datagram_is_no_hang_up),
        cmocka_unit_test(no_descriptor_can_be_sent_where_the_kernel_knows_how),
        cmocka_unit_test(a_descriptor_that_nobody_wants_stays_where_it_is),
        cmocka_unit_test(a_descriptor_that_a_signal_interrupts_is_sent_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

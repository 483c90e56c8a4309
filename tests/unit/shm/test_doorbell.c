/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/shm/doorbell.h"
#include "tests/support/leak.h"
#include "tests/support/testing.h"

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
    assert_true(hub_doorbell_drain(own, NULL));
    assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
    assert_int_equal(recv(own, &byte, 1, MSG_DONTWAIT), 1);
    assert_int_equal(byte, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(hub_doorbell_ring(peer), HUB_BELL_RUNG);
    assert_true(has_input(own));
    assert_true(hub_doorbell_drain(own, NULL));
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
    assert_true(hub_doorbell_drain(own, NULL));
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
    assert_false(hub_doorbell_drain(own, NULL));
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
    assert_true(hub_doorbell_drain(ends[0], NULL));
    assert_false(has_input(ends[0]));
    close(ends[1]);
    assert_int_equal(hub_doorbell_ring(ends[0]), HUB_BELL_GONE);
    close(ends[0]);
}

/* Descriptors that come with a byte are never received, so none is left open. */
static void descriptors_sent_along_are_not_taken(void **state)
{
    struct leak *leak = leak_begin();
    int own, peer, gift;
    char byte = 1;
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.space = {0}};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof(control.space)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    (void)state;
    assert_int_equal(hub_doorbell_create(&own, &peer), 0);
    gift = eventfd(0, EFD_CLOEXEC);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &gift, sizeof(int));
    assert_int_equal(sendmsg(peer, &message, MSG_DONTWAIT), 1);
    close(gift);
    assert_true(hub_doorbell_drain(own, NULL));
    close(own);
    close(peer);
    leak_assert_none(leak);
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
        cmocka_unit_test(descriptors_sent_along_are_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

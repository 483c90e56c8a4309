/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/shm/fd_store.h"
#include "tests/support/leak.h"
#include "tests/support/linger.h"
#include "tests/support/testing.h"

#define MANY 64

struct pair {
    struct hub_closer *closer;
    struct leak *leak;
    int own, peer;
};

static void open_pair(struct pair *pair)
{
    pair->leak = leak_begin();
    assert_int_equal(hub_closer_create(&pair->closer), 0);
    assert_int_equal(hub_fd_store_create(&pair->own, &pair->peer), 0);
}

static void close_pair(struct pair *pair)
{
    close(pair->own);
    close(pair->peer);
    hub_closer_release(&pair->closer);
    leak_assert_none(pair->leak);
}

/* A message as no guest library sends it. */
static void send_raw(const struct pair *pair, const char *text, size_t size, unsigned descriptors)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MANY * sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)text, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    memset(&control, 0, sizeof control);
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS,
                                      .cmsg_len = CMSG_LEN(descriptors * sizeof(int))};
    for (unsigned i = 0; i < descriptors; i++)
        memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &pair->own, sizeof(int));
    if (descriptors > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    }
    assert_int_equal(sendmsg(pair->peer, &message, MSG_DONTWAIT), size);
}

/* r[verify supervise.keep.message] */
static void a_name_and_its_descriptor_arrive_together(void **state)
{
    struct hub_fd_store deposit;
    struct pair pair;
    int pipes[2];

    (void)state;
    open_pair(&pair);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), -EAGAIN);
    assert_int_equal(hub_fd_store_send(pair.peer, "a.b-c_1", pipes[1]), 0);
    assert_int_equal(hub_fd_store_send(pair.peer, "none", -1), 0);
    assert_int_equal(hub_fd_store_send(pair.peer, "x", 1 << 20), -EBADF);
    close(pipes[1]);
    close(pair.peer);
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), 0);
    assert_string_equal(deposit.name, "a.b-c_1");
    assert_true(fcntl(deposit.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(deposit.fd, "x", 1), 1);
    close(deposit.fd);
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), 0);
    assert_string_equal(deposit.name, "none");
    assert_int_equal(deposit.fd, -1);
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), -EPIPE);
    close(pipes[0]);
    pair.peer = dup(pair.own);
    close_pair(&pair);
}

/* Refused descriptors are closed on another thread, by the end of the test. A slow one is no
 * different. r[verify supervise.keep.message] r[verify hub.descriptor.elsewhere] */
static void too_many_that_last_keep_nobody_waiting(void **state)
{
    uint64_t start_ns = hub_clock_now();
    struct hub_fd_store deposit;
    struct pair pair;
    int peer, fd = linger_open(20, &peer);

    (void)state;
    open_pair(&pair);
    assert_int_equal(linger_send(pair.peer, fd, 2, 0), 0);
    close(fd);
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), RAPAHUB_EPROTOCOL);
    assert_true(hub_clock_now() - start_ns < 2 * HUB_SECOND);
    close(peer);
    close_pair(&pair);
}

/* r[verify supervise.keep.message] */
static void what_is_no_deposit_leaves_nothing_open(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        unsigned descriptors;
    } wrong[] = {
        {"two", 3, 2},
        {"many", 4, MANY},
        {"two words", 9, 1},
        {"zero\0", 5, 1},
        {"\0zero", 5, 1},
        {"sl/ash", 6, 1},
        {"\xff\xfe", 2, 0},
        {"a23456789b123456789c123456789d123456789e123456789f123456789g1234", 64, 1},
    };
    struct hub_fd_store deposit;
    struct pair pair;

    (void)state;
    open_pair(&pair);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        send_raw(&pair, wrong[i].text, wrong[i].size, wrong[i].descriptors);
        assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), RAPAHUB_EPROTOCOL);
        assert_string_equal(rapahub_last_error()->rule, "supervise.keep.message");
        assert_int_equal(deposit.fd, -1);
    }
    send_raw(&pair, "", 0, 1); /* looks like the end */
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), -EPIPE);
    close_pair(&pair);
}

/* A sender without end is told that there is no space; nothing of it is in the host before it is
 * received, and then nothing without a name. r[verify supervise.keep.bounds] */
static void a_flood_waits_with_its_sender(void **state)
{
    struct hub_fd_store deposit;
    struct pair pair;
    unsigned sent = 0, received = 0;
    int r, first = -1;

    (void)state;
    open_pair(&pair);
    while ((r = hub_fd_store_send(pair.peer, "flood", pair.own)) == 0)
        sent++;
    assert_true(r == -EAGAIN || r == -ETOOMANYREFS);
    while (hub_fd_store_receive(pair.own, pair.closer, &deposit) == 0) {
        if (first < 0)
            first = deposit.fd;
        assert_int_equal(deposit.fd, first); /* the lowest number is free again each time */
        close(deposit.fd);
        received++;
    }
    assert_int_equal(received, sent);
    close_pair(&pair);
}

/* That is no violation, and no reason to drop anything. r[verify supervise.keep.message]
 * r[verify hub.descriptor.elsewhere] */
static void without_a_free_number_one_waits_in_the_socket(void **state)
{
    struct rlimit before, none;
    struct hub_fd_store deposit;
    struct pair pair;
    int r;

    (void)state;
    open_pair(&pair);
    assert_int_equal(hub_fd_store_send(pair.peer, "first", pair.own), 0);
    assert_int_equal(hub_fd_store_send(pair.peer, "next", -1), 0);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    r = hub_fd_store_receive(pair.own, pair.closer, &deposit);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(r, -ENFILE);
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), 0);
    assert_string_equal(deposit.name, "first");
    close(deposit.fd);
    assert_int_equal(hub_fd_store_receive(pair.own, pair.closer, &deposit), 0);
    assert_string_equal(deposit.name, "next");
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_and_its_descriptor_arrive_together),
        cmocka_unit_test(what_is_no_deposit_leaves_nothing_open),
        cmocka_unit_test(too_many_that_last_keep_nobody_waiting),
        cmocka_unit_test(a_flood_waits_with_its_sender),
        cmocka_unit_test(without_a_free_number_one_waits_in_the_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What members of the group of a control socket try against the host. */
#include <sys/socket.h>

#include "host/socket/listener.h"
#include "tests/support/pause.h"
#include "tests/unit/host-control/member.h"

/* The queue of the listener is short: where it is full the host is given time. */
static int connect_raw(const struct user *user)
{
    uint64_t deadline_ns = hub_clock_after(WITHIN);
    int fd = -1;

    while (host_listener_connect(user->path, &fd) < 0 && hub_clock_left(deadline_ns) > 0)
        pause_ms(1);
    return fd;
}

/* Returns 0 if the host has hung up, or does so in time. */
static int hung_up(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char bytes[4096];
    ssize_t n = 1;

    while (n > 0)
        n = poll(&ready, 1, 10000) == 1 ? recv(fd, bytes, sizeof bytes, 0) : 1;
    return n == 0 || errno == ECONNRESET ? 0 : 1;
}

static int send_garbage(const struct user *user)
{
    static const char *const garbage[] = {"\xff\xff\xff\xffgarbage", "\x01\x00\x00\x00\xfe",
                                          "\x02\x00\x00\x00\x02\xff",
                                          "\x03\x00\x00\x00\x80\x80\x80"};
    static const size_t sizes[] = {11, 5, 6, 7};

    for (int i = 0; i < 4; i++) {
        int fd = connect_raw(user);

        if (fd < 0 || send(fd, garbage[i], sizes[i], MSG_NOSIGNAL) < 0)
            return 10 + i;
        if (hung_up(fd) != 0)
            return 20 + i;
        close(fd);
    }
    return 0;
}

/* Half a length, and half a frame; 20 of each, so that the first have to go. */
static int send_halves(const struct user *user)
{
    int fds[40];

    for (int i = 0; i < 40; i++) {
        fds[i] = connect_raw(user);
        if (fds[i] < 0 || send(fds[i], "\xff\xff\x00\x00\x00\x01", i % 2 ? 2 : 6, MSG_NOSIGNAL) < 0)
            return 10 + i;
    }
    return hung_up(fds[0]);
}

/* Asks on and on, and reads no answer. */
static int never_read(const struct user *user)
{
    struct host_frame_buffer out = {0};
    int fd = connect_raw(user), r = 0;
    uint64_t deadline_ns = hub_clock_after(WITHIN);

    while (r >= 0 && hub_clock_left(deadline_ns) > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};

        if (!host_frame_pending(&out) && host_frame_put(&out, HOST_FRAME_LIST, &none) < 0)
            return 2;
        r = host_frame_flush(&out, fd);
        if (r == 0)
            (void)poll(&ready, 1, 100);
    }
    host_frame_fini(&out);
    return r == RAPAHUB_ECLOSED ? 0 : 1;
}

static void expect_served(struct fixture *f, struct host_client *admin)
{
    ask(f, admin, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(admin), 0);
}

static void what_an_operator_sends_harms_nobody(void **state)
{
    static deed *const deeds[] = {send_garbage, send_halves, never_read};
    struct fixture *f = *state;
    struct user operator= user_of(f, GROUP);
    struct host_client *admin = connect_to(f);

    expect_served(f, admin);
    for (unsigned i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        assert_int_equal(run_as(f, &operator, deeds[i]), 0);
        expect_served(f, admin);
    }
    expect_untouched(f);
    host_client_release(&admin);
}

/* As one who follows the log, and so is never idle; and stays until it is killed. */
static int connect_a_hundred_times(const struct user *user)
{
    const struct control_logs follow = {.since_ns = 0, .level = RAPAHUB_LOG_ERROR, .follow = true};

    uint64_t deadline_ns = hub_clock_after(WITHIN);

    for (int i = 0; i < 100; i++) {
        struct host_client *client = NULL;

        while (host_client_open(user->path, &client) < 0 && hub_clock_left(deadline_ns) > 0)
            pause_ms(1);
        if (!client)
            continue;
        (void)host_client_send(client, HOST_FRAME_LOGS, &follow, hub_clock_after(WITHIN));
    }
    return 0;
}

static int connect_and_stay(const struct user *user)
{
    int r = connect_a_hundred_times(user);

    pause_ms(-1);
    return r;
}

static unsigned count_clients(const struct fixture *f, uid_t uid)
{
    unsigned count = 0;

    for (int i = 0; i < HOST_SERVER_CLIENTS; i++)
        count += f->control->clients[i].fd >= 0 && f->control->clients[i].following &&
                 (uid == 0 || f->control->clients[i].uid == uid);
    return count;
}

static void serve_until(struct fixture *f, uid_t uid, unsigned count)
{
    uint64_t deadline_ns = hub_clock_after(WITHIN);

    while (count_clients(f, uid) < count && hub_clock_left(deadline_ns) > 0)
        turn(f);
    for (int i = 0; i < 50; i++)
        turn(f);
    assert_int_equal(count_clients(f, uid), count);
}

/* The share is full, and those who are no admins get no more; admins do.
 * r[verify sec.control.share] */
static void who_connects_a_hundred_times_shuts_out_no_admin(void **state)
{
    struct fixture *f = *state;
    struct user viewer = user_of(f, GROUP);
    struct host_client *admins[16];
    pid_t children[3];

    for (unsigned i = 0; i < 3; i++) {
        viewer.uid = USER + i;
        children[i] = begin(&viewer, connect_and_stay);
        serve_until(f, viewer.uid, i < 2 ? HOST_SERVER_OF_USER : 0);
    }
    assert_int_equal(count_clients(f, 0), HOST_SERVER_SHARED);
    for (unsigned i = 0; i < 16; i++) {
        admins[i] = connect_to(f);
        expect_served(f, admins[i]);
    }
    for (unsigned i = 0; i < 16; i++) {
        expect_served(f, admins[i]);
        host_client_release(&admins[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(kill(children[i], SIGKILL), 0);
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
    }
    serve(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AS(for_operators, what_an_operator_sends_harms_nobody),
        AS(for_viewers, who_connects_a_hundred_times_shuts_out_no_admin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

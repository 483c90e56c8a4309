/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/daemon/notify.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define SELF 77

/* The service manager's socket, of this name: a path, or an abstract one. */
static int listen_at(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(at.sun_path, name, strlen(name));
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    return fd;
}

static void expect(int fd, const char *text)
{
    char got[2048] = "";

    assert_int_equal(recv(fd, got, sizeof got - 1, 0), strlen(text));
    assert_string_equal(got, text);
}

static struct daemon_notify open_at(const char *name)
{
    const struct daemon_notify_given given = {.socket = name};
    struct daemon_notify notify;

    assert_int_equal(daemon_notify_open(&given, SELF, &notify), 0);
    return notify;
}

/* r[verify cluster.daemon.notify] */
static void lines_reach_the_socket_as_they_are(void **state)
{
    const char *const names[] = {"/tmp/rapahub-test-notify-%d", "@rapahub-test-notify-%d"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        char name[64];
        struct daemon_notify notify;
        int fd;

        snprintf(name, sizeof name, i == 0 ? "/tmp/rapahub-test-notify-%d" : "@rapahub-test-%d",
                 (int)getpid());
        fd = listen_at(name);
        notify = open_at(name);
        daemon_notify_send(&notify, "READY=1\nMAINPID=%d", 12);
        daemon_notify_send(&notify, "WATCHDOG=1");
        expect(fd, "READY=1\nMAINPID=12");
        expect(fd, "WATCHDOG=1");
        daemon_notify_close(&notify);
        daemon_notify_send(&notify, "STOPPING=1");
        assert_int_equal(recv(fd, name, 1, 0), -1);
        close(fd);
        if (names[i][0] == '/')
            unlink(name);
    }
}

static void a_long_text_is_cut(void **state)
{
    char name[64], text[2000], got[2000];
    struct daemon_notify notify;
    int fd;

    (void)state;
    snprintf(name, sizeof name, "@rapahub-test-%d", (int)getpid());
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fd = listen_at(name);
    notify = open_at(name);
    daemon_notify_send(&notify, "STATUS=%s", text);
    assert_int_equal(recv(fd, got, sizeof got, 0), 1000);
    daemon_notify_close(&notify);
    close(fd);
}

/* A service manager that does not read holds nobody up. */
static void a_full_socket_loses_lines(void **state)
{
    struct daemon_notify notify;
    char name[64];
    int fd;

    (void)state;
    snprintf(name, sizeof name, "@rapahub-test-%d", (int)getpid());
    fd = listen_at(name);
    notify = open_at(name);
    for (int i = 0; i < 100000; i++)
        daemon_notify_send(&notify, "WATCHDOG=1");
    expect(fd, "WATCHDOG=1");
    close(fd);
    daemon_notify_send(&notify, "WATCHDOG=1"); /* it is gone */
    daemon_notify_close(&notify);
}

static void without_a_socket_nothing_is_told(void **state)
{
    const char *const none[] = {NULL, ""};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct daemon_notify notify = open_at(none[i]);

        assert_int_equal(notify.fd, -1);
        daemon_notify_send(&notify, "READY=1");
        daemon_notify_close(&notify);
    }
}

static void a_socket_that_cannot_be_is_refused(void **state)
{
    char text[300];
    const char *const names[] = {"relative", "vsock:2:1", "@", "/nowhere/socket", "/", text};

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[0] = '/';
    text[sizeof text - 1] = '\0';
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const struct daemon_notify_given given = {.socket = names[i], .watchdog_usec = "1000"};
        struct daemon_notify notify;

        assert_int_equal(daemon_notify_open(&given, SELF, &notify), RAPAHUB_ECONFIG);
        assert_int_equal(notify.fd, -1);
        assert_int_equal(notify.watchdog_ns, 0);
    }
}

/* r[verify cluster.daemon.notify] */
static void the_watchdog_is_that_of_this_process(void **state)
{
    const struct {
        const char *usec, *pid;
        uint64_t ns;
    } cases[] = {{"10000000", "77", 10 * HUB_SECOND},
                 {"1", NULL, HUB_MICROSECOND},
                 {"10000000", "78", 0},
                 {"10000000", "x", 0},
                 {NULL, "77", 0},
                 {"0", "77", 0},
                 {"-1", "77", 0},
                 {"10s", "77", 0},
                 {"18446744073709551615", "77", 0}};
    char name[64];
    int fd;

    (void)state;
    snprintf(name, sizeof name, "@rapahub-test-%d", (int)getpid());
    fd = listen_at(name);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct daemon_notify_given given = {name, cases[i].usec, cases[i].pid};
        struct daemon_notify notify;

        assert_int_equal(daemon_notify_open(&given, SELF, &notify), 0);
        assert_int_equal(notify.watchdog_ns, cases[i].ns);
        daemon_notify_close(&notify);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_reach_the_socket_as_they_are),
                                       cmocka_unit_test(a_long_text_is_cut),
                                       cmocka_unit_test(a_full_socket_loses_lines),
                                       cmocka_unit_test(without_a_socket_nothing_is_told),
                                       cmocka_unit_test(a_socket_that_cannot_be_is_refused),
                                       cmocka_unit_test(the_watchdog_is_that_of_this_process)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* member: a control socket that is open to a group, and processes of other users, members of it or
 * not, which need root. */
#ifndef TESTS_UNIT_HOST_CONTROL_MEMBER_H
#define TESTS_UNIT_HOST_CONTROL_MEMBER_H

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/host-control/fixture.h"

#define GROUP      200000011u
#define GROUP_TEXT "200000011"
#define ANOTHER    200000012u
#define USER       200000020u
#define WITHIN     (20 * HUB_SECOND)

FIXTURE int open_to(void **state, enum rapahub_control_role role)
{
    const struct fixture *f;

    if (geteuid() != 0)
        return set_up(state);
    if (set_up_for(state, GROUP_TEXT, role) < 0)
        return -1;
    f = *state;
    return chmod(f->folder, 0711);
}

FIXTURE int for_viewers(void **state)
{
    return open_to(state, RAPAHUB_CONTROL_VIEWER);
}

FIXTURE int for_operators(void **state)
{
    return open_to(state, RAPAHUB_CONTROL_OPERATOR);
}

FIXTURE int for_admins(void **state)
{
    return open_to(state, RAPAHUB_CONTROL_ADMIN);
}

/* ---- another user ---- */

struct user {
    uid_t uid;
    gid_t gid;
    unsigned more;    /* supplementary groups of smaller numbers: the kernel sorts them */
    gid_t also;       /* the last of them; 0: none */
    const char *path; /* of the socket */
    unsigned number;  /* of what it tries */
};

FIXTURE struct user user_of(const struct fixture *f, gid_t gid)
{
    return (struct user){.uid = USER, .gid = gid, .path = f->path};
}

FIXTURE bool become(const struct user *user)
{
    gid_t groups[201];
    size_t count = 0;

    while (count < user->more) {
        groups[count] = 100000000u + (gid_t)count;
        count++;
    }
    if (user->also)
        groups[count++] = user->also;
    return setgroups(count, groups) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
           setresuid(user->uid, user->uid, user->uid) == 0;
}

/* What it does returns 0, or the number of the step that went wrong. */
typedef int deed(const struct user *user);

FIXTURE pid_t begin(const struct user *user, deed *what)
{
    pid_t child;

    if (geteuid() != 0)
        skip(); /* only root may be another user */
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(become(user) && alarm(60) == 0 ? what(user) : 125);
    return child;
}

FIXTURE void turn(struct fixture *f)
{
    static const int64_t sum = 42;
    struct pollfd control = {.fd = rapahub_control_fd(f->control), .events = POLLIN};

    (void)poll(&control, 1, 5);
    serve(f);
    if (f->host.done)
        finish_call(&f->host, 0, &sum);
    if (f->host.ended)
        finish_end(&f->host, 0);
}

/* Serves until that process has ended, and returns its step. */
FIXTURE int end(struct fixture *f, pid_t child)
{
    uint64_t deadline_ns = hub_clock_after(3 * WITHIN);
    int status;

    while (waitpid(child, &status, WNOHANG) == 0) {
        assert_true(hub_clock_left(deadline_ns) > 0);
        turn(f);
    }
    turn(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

FIXTURE int run_as(struct fixture *f, const struct user *user, deed *what)
{
    return end(f, begin(user, what));
}

/* The end of one request, from that process. */
FIXTURE int request(struct host_client *client, enum host_frame_kind kind, const void *record)
{
    uint64_t deadline_ns = hub_clock_after(WITHIN);
    union host_frame_record item;
    enum host_frame_kind got;
    int r = host_client_send(client, kind, record, deadline_ns);

    while (r >= 0) {
        r = host_client_receive(client, deadline_ns, -1, &got, &item);
        if (r == 0)
            return 0;
    }
    return r;
}

FIXTURE void expect_untouched(const struct fixture *f)
{
    assert_int_equal(f->host.calls + f->host.stops + f->host.kills + f->host.host_stops +
                         f->host.restarts + f->host.upgrades,
                     0);
}

#define AS(how, name) cmocka_unit_test_setup_teardown(name, how, tear_down)

#endif

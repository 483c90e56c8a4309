/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/daemon/children.h"
#include "hub/base/clock.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define WITHIN (10 * HUB_SECOND)

/* Ignores what it can, and lives until it is killed; but not for ever, if the test fails. */
static _Noreturn void be_stubborn(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)setsid();
    pause_ms(60000);
    _exit(0);
}

static pid_t make_child(void)
{
    pid_t pid = fork();

    if (pid == 0)
        be_stubborn();
    return pid;
}

/* A child whose children have children, `depth` of them in a row, two of each. */
static void make_tree(int depth)
{
    for (int i = 0; i < 2; i++) {
        if (fork() != 0)
            continue;
        if (depth > 0)
            make_tree(depth - 1);
        be_stubborn();
    }
}

static bool end_all(void *user)
{
    int *rounds = user;

    ++*rounds;
    (void)daemon_children_kill();
    return !daemon_children_reap(0);
}

static void expect_end(void)
{
    int rounds = 0;

    assert_true(process_until(end_all, &rounds, WITHIN));
    assert_int_equal(waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void without_children_there_is_nothing_to_do(void **state)
{
    (void)state;
    assert_int_equal(daemon_children_kill(), 0);
    assert_false(daemon_children_reap(0));
}

/* r[verify cluster.warden.ends] */
static void children_that_ignore_all_are_ended(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_true(make_child() > 0);
    assert_true(daemon_children_reap(0));
    assert_int_equal(daemon_children_kill(), 20);
    expect_end();
}

/* r[verify cluster.warden.ends] */
static void a_child_that_is_stopped_is_ended(void **state)
{
    pid_t pid = make_child();

    (void)state;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    expect_end();
}

/* All of them have the end of a pipe, so that one which went elsewhere is seen, too.
 * r[verify cluster.warden.ends] */
static void children_of_children_are_ended(void **state)
{
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(daemon_children_adopt(), 0);
    make_tree(4); /* 62 processes */
    close(ends[1]);
    pause_ms(20);
    expect_end();
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static bool is_dead(void *user)
{
    siginfo_t info = {0};

    return waitid(P_PID, *(id_t *)user, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

static void the_one_that_is_not_to_be_reaped_stays(void **state)
{
    id_t kept = (id_t)make_child(), other = (id_t)make_child();
    siginfo_t info;

    (void)state;
    assert_int_equal(daemon_children_kill(), 2);
    assert_true(process_until(is_dead, &kept, WITHIN));
    assert_true(process_until(is_dead, &other, WITHIN));
    assert_true(daemon_children_reap((pid_t)kept));
    assert_true(is_dead(&kept));
    assert_int_equal(waitid(P_PID, kept, &info, WEXITED | WNOHANG), 0);
    expect_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_children_there_is_nothing_to_do),
                                       cmocka_unit_test(children_that_ignore_all_are_ended),
                                       cmocka_unit_test(a_child_that_is_stopped_is_ended),
                                       cmocka_unit_test(children_of_children_are_ended),
                                       cmocka_unit_test(the_one_that_is_not_to_be_reaped_stays)};

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/proof.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SOON (20 * HUB_SECOND)

struct child {
    pid_t pid;
    int pidfd;
};

/* A child that ends with `status`, or waits for a signal where it is less than 0. */
static struct child start(int status)
{
    struct child child;

    if (!process_possible())
        skip();
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        while (status < 0)
            pause();
        _exit(status);
    }
    child.pidfd = pidfd_open(child.pid, 0);
    assert_true(child.pidfd >= 0);
    return child;
}

static void a_descriptor_of_a_process_may_be_any_number(void **state)
{
    int input;

    (void)state;
    if (!process_possible())
        skip();
    input = dup(0);
    assert_true(input > 0);
    close(0);
    assert_int_equal(hub_proof_open(getpid()), 0);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
    assert_int_equal(hub_proof_open(-1), -EINVAL);
}

/* Silence proves nothing. r[verify hub.death.proof] */
static void a_living_process_is_never_called_dead(void **state)
{
    struct child child = start(-1);
    struct hub_exit end = {.code = 77};

    (void)state;
    assert_false(hub_proof_of_death(child.pidfd));
    assert_int_equal(hub_proof_wait(child.pidfd, hub_clock_after(5 * HUB_MILLISECOND)), -ETIMEDOUT);
    assert_int_equal(hub_proof_status(child.pidfd, &end), -EAGAIN);
    assert_int_equal(hub_proof_reap(child.pidfd, &end), -EAGAIN);
    assert_int_equal(end.code, 77);
    assert_int_equal(kill(child.pid, SIGSTOP), 0);
    assert_false(hub_proof_of_death(child.pidfd));
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    assert_int_equal(hub_proof_wait(child.pidfd, hub_clock_after(SOON)), 0);
    assert_int_equal(hub_proof_reap(child.pidfd, &end), 0);
    close(child.pidfd);
}

/* r[verify hub.death.proof] r[verify shm.death.process-handle] */
static void a_killed_process_is_proven_dead_with_its_signal(void **state)
{
    struct child child = start(-1);
    struct hub_exit end;

    (void)state;
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    assert_int_equal(hub_proof_wait(child.pidfd, hub_clock_after(SOON)), 0);
    assert_true(hub_proof_of_death(child.pidfd));
    assert_int_equal(hub_proof_reap(child.pidfd, &end), 0);
    assert_int_equal(end.code, CLD_KILLED);
    assert_int_equal(end.status, SIGKILL);
    close(child.pidfd);
}

static void the_status_of_who_exited_is_told(void **state)
{
    struct child child = start(75);
    struct hub_exit end;

    (void)state;
    assert_int_equal(hub_proof_wait(child.pidfd, hub_clock_after(SOON)), 0);
    assert_int_equal(hub_proof_reap(child.pidfd, &end), 0);
    assert_int_equal(end.code, CLD_EXITED);
    assert_int_equal(end.status, 75);
    close(child.pidfd);
}

/* r[verify hub.death.proof] */
static void any_process_is_taken_hold_of_by_its_number(void **state)
{
    struct child child = start(-1);
    struct hub_exit end;
    int pidfd = hub_proof_open(child.pid);

    (void)state;
    assert_true(pidfd >= 0);
    assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
    assert_false(hub_proof_of_death(pidfd));
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    assert_int_equal(hub_proof_wait(pidfd, hub_clock_after(SOON)), 0);
    assert_int_equal(hub_proof_reap(child.pidfd, &end), 0);
    assert_int_equal(hub_proof_open(child.pid), -ESRCH);
    assert_true(hub_proof_of_death(pidfd));
    close(child.pidfd);
    close(pidfd);
}

static void lock(int fd, short type, off_t start)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 5};

    assert_int_equal(fcntl(fd, F_OFD_SETLK, &range), 0);
}

/* Another opening of the same file holds nothing. r[verify hub.death.named] */
static void who_holds_a_lock_is_seen_and_nobody_else(void **state)
{
    const uint64_t far = UINT64_C(1) << 40;
    struct child child;
    struct hub_exit end;
    char path[64];
    int one, again;

    (void)state;
    if (!process_possible())
        skip();
    one = memfd_create("one", MFD_CLOEXEC);
    child = start(-1); /* it has what this process has, but what it opens later */
    snprintf(path, sizeof path, "/proc/self/fd/%d", one);
    again = open(path, O_RDWR | O_CLOEXEC);
    assert_false(hub_proof_has_lock(child.pid, one, far));
    lock(one, F_WRLCK, (off_t)far);
    lock(again, F_WRLCK, 7);
    assert_true(hub_proof_has_lock(getpid(), one, far));
    assert_true(hub_proof_has_lock(child.pid, one, far));
    assert_true(hub_proof_has_lock(child.pid, again, far));
    assert_false(hub_proof_has_lock(child.pid, one, far + 1));
    assert_true(hub_proof_has_lock(getpid(), one, 7));
    assert_false(hub_proof_has_lock(child.pid, one, 7)); /* its file, and open; not by that */
    assert_false(hub_proof_has_lock(child.pid, -1, far));
    lock(one, F_UNLCK, (off_t)far);
    assert_false(hub_proof_has_lock(child.pid, one, far));
    lock(one, F_WRLCK, (off_t)far);
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    assert_int_equal(hub_proof_wait(child.pidfd, hub_clock_after(SOON)), 0);
    assert_false(hub_proof_has_lock(child.pid, one, far)); /* a dead one has nothing */
    assert_int_equal(hub_proof_reap(child.pidfd, &end), 0);
    close(child.pidfd);
    close(one);
    close(again);
}

/* As long as the status is not collected the pid belongs to no other process. */
static void a_status_that_is_looked_at_stays(void **state)
{
    struct child child = start(3);
    struct hub_exit end;

    (void)state;
    assert_int_equal(hub_proof_wait(child.pidfd, hub_clock_after(SOON)), 0);
    for (int i = 0; i < 3; i++) {
        end.status = 0;
        assert_int_equal(hub_proof_status(child.pidfd, &end), 0);
        assert_int_equal(end.status, 3);
    }
    assert_int_equal(kill(child.pid, 0), 0);
    assert_int_equal(hub_proof_reap(child.pidfd, &end), 0);
    assert_int_equal(kill(child.pid, 0), -1);
    close(child.pidfd);
}

static void a_status_is_taken_once_and_the_proof_stays(void **state)
{
    struct child child = start(0);
    struct hub_exit end;

    (void)state;
    assert_int_equal(hub_proof_wait(child.pidfd, HUB_NEVER), 0);
    assert_int_equal(hub_proof_reap(child.pidfd, &end), 0);
    assert_int_equal(hub_proof_reap(child.pidfd, &end), -ECHILD);
    assert_int_equal(hub_proof_status(child.pidfd, &end), -ECHILD);
    assert_true(hub_proof_of_death(child.pidfd));
    close(child.pidfd);
}

static void what_is_no_descriptor_proves_nothing(void **state)
{
    int gone = dup(0);

    (void)state;
    close(gone);
    assert_false(hub_proof_of_death(gone));
    assert_int_equal(hub_proof_wait(gone, hub_clock_after(SOON)), -EBADF);
    assert_false(hub_proof_of_death(-1));
}

/* poll takes no more descriptors than the process may open; valgrind keeps that limit to itself. */
static void a_wait_that_cannot_be_made_ends_at_once(void **state)
{
    struct rlimit kept, none;
    int r;

    (void)state;
    if (!process_possible())
        skip();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
    none = (struct rlimit){0, kept.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    r = hub_proof_wait(0, hub_clock_after(100 * HUB_MILLISECOND));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    assert_int_equal(r, -EINVAL);
}

/* Two in a row: the usage is read without reaping. */
static void what_a_child_has_used_is_known(void **state)
{
    struct hub_usage usage = {0};
    struct hub_exit end;
    pid_t pid;
    int pidfd;

    (void)state;
    if (!process_possible())
        skip();
    pid = fork();
    if (pid == 0) {
        static volatile char much[16 << 20];

        for (int i = 0; i < 20000000; i++)
            much[i % (int)sizeof much] = 1;
        _exit(0);
    }
    pidfd = hub_proof_open(pid);
    assert_true(pidfd >= 0);
    assert_int_equal(hub_proof_wait(pidfd, hub_clock_after(20 * HUB_SECOND)), 0);
    assert_int_equal(hub_proof_usage(pidfd, &usage), 0);
    assert_int_equal(hub_proof_usage(pidfd, &usage), 0);
    /* to which of the two it goes the kernel says by where its ticks fell */
    assert_in_range(usage.user_ns + usage.system_ns, HUB_MILLISECOND, 20 * HUB_SECOND);
    assert_in_range(usage.memory_max, 4 << 20, UINT64_C(1) << 40);
    assert_int_equal(hub_proof_reap(pidfd, &end), 0);
    assert_int_equal(hub_proof_usage(pidfd, &usage), -ECHILD);
    close(pidfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_of_a_process_may_be_any_number),
        cmocka_unit_test(a_living_process_is_never_called_dead),
        cmocka_unit_test(a_killed_process_is_proven_dead_with_its_signal),
        cmocka_unit_test(the_status_of_who_exited_is_told),
        cmocka_unit_test(any_process_is_taken_hold_of_by_its_number),
        cmocka_unit_test(who_holds_a_lock_is_seen_and_nobody_else),
        cmocka_unit_test(a_status_that_is_looked_at_stays),
        cmocka_unit_test(a_status_is_taken_once_and_the_proof_stays),
        cmocka_unit_test(what_is_no_descriptor_proves_nothing),
        cmocka_unit_test(a_wait_that_cannot_be_made_ends_at_once),
        cmocka_unit_test(what_a_child_has_used_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

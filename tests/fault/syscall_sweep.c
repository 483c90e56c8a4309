/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/syscall_sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "tests/support/testing.h"

#define LIMIT_S    30 /* of one process; SIGALRM ends the test */
#define STOPPED_AT (SIGTRAP | 0x80)

struct traced {
    pid_t child;
    uint64_t until, stops;
    long last; /* system call of the last stop */
    bool killed;
};

__attribute__((noreturn)) static void be_child(const struct syscall_sweep *sweep, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(99);
    raise(SIGSTOP);
    sweep->operate(sweep->user);
    _exit(0);
}

static void note_call(struct traced *traced, pid_t thread)
{
    struct __ptrace_syscall_info info = {0};

    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof info, &info) > 0 &&
        info.op == PTRACE_SYSCALL_INFO_ENTRY)
        traced->last = (long)info.entry.nr;
}

/* A stop of one thread: at a system call it is counted; a signal is passed on, but not the stop
 * with which a new thread begins. */
static void go_on(struct traced *traced, pid_t thread, int status)
{
    int signal = WSTOPSIG(status), pass_on = 0;

    if (signal == STOPPED_AT) {
        note_call(traced, thread);
        traced->stops++;
    } else if (signal != SIGSTOP && status >> 16 == 0) {
        pass_on = signal;
    }
    if (traced->stops == traced->until && !traced->killed) {
        traced->killed = true;
        kill(traced->child, SIGKILL);
        return;
    }
    ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)pass_on);
}

/* Until the process has ended. Returns its status, or -1. */
static int trace(struct traced *traced)
{
    int status;
    pid_t thread = waitpid(traced->child, &status, 0);

    if (thread != traced->child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, thread, NULL,
               (void *)(intptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                                  PTRACE_O_EXITKILL)) != 0)
        return -1;
    ptrace(PTRACE_SYSCALL, thread, NULL, NULL);
    while ((thread = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status))
            go_on(traced, thread, status);
        else if (thread == traced->child)
            return status;
    }
    return -1;
}

static void note_failure(struct syscall_sweep_result *result, uint64_t point, const char *text)
{
    if (result->failures++ > 0)
        return;
    result->first_failure = point;
    result->text = text;
}

/* Returns 1 if the process finished before the point, 0 if it was killed there, or -1. */
static int one_point(const struct syscall_sweep *sweep, struct syscall_sweep_result *result,
                     uint64_t point)
{
    struct traced traced = {.until = point, .last = -1};
    const char *text;
    pid_t parent = getpid();
    int status;
    bool finished;

    sweep->setup(sweep->user);
    alarm(LIMIT_S);
    traced.child = fork();
    if (traced.child == 0)
        be_child(sweep, parent);
    status = traced.child > 0 ? trace(&traced) : -1;
    alarm(0);
    finished = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!finished && (status == -1 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL))
        return -1;
    text = sweep->check(sweep->user, finished);
    if (text)
        note_failure(result, point, text);
    if (finished) {
        result->calls = traced.stops / 2;
        return 1;
    }
    result->points++;
    if (traced.last >= 0 && traced.last < SYSCALL_SWEEP_KINDS)
        result->kinds[traced.last]++;
    return 0;
}

int syscall_sweep_run(const struct syscall_sweep *sweep, struct syscall_sweep_result *result)
{
    unsigned kinds = 0;
    int r = 0;

    *result = (struct syscall_sweep_result){0};
    for (uint64_t point = 1; r == 0; point += sweep->stride)
        r = one_point(sweep, result, point);
    for (unsigned i = 0; i < SYSCALL_SWEEP_KINDS; i++)
        kinds += result->kinds[i] > 0;
    printf("%s | %" PRIu64 " system calls of %u kinds, every %" PRIu64 " | %5" PRIu64
           " points | %" PRIu64 " failures\n",
           sweep->name, result->calls, kinds, sweep->stride, result->points, result->failures);
    if (result->failures > 0)
        printf("  at point %" PRIu64 ": %s\n", result->first_failure, result->text);
    fflush(stdout);
    return r > 0 ? 0 : -1;
}

/* ---- what programs share ---- */

static uint64_t stride = 7;

void syscall_sweep_read_options(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--every") == 0)
        stride = 1;
}

void *syscall_sweep_share(size_t size)
{
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(shared != MAP_FAILED);
    return shared;
}

static void be_silent(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

void syscall_sweep_whole(const struct syscall_sweep *sweep, uint64_t least)
{
    struct syscall_sweep one = *sweep;
    struct syscall_sweep_result result;

    if (one.stride == 0)
        one.stride = stride;
    rapahub_log_to(be_silent, NULL, RAPAHUB_LOG_ERROR);
    assert_int_equal(syscall_sweep_run(&one, &result), 0);
    assert_int_equal(result.failures, 0);
    assert_true(result.points > least);
}

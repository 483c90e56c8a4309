/* SPDX-License-Identifier: Apache-2.0 */
/* sweep: one process for each point. The child counts its own instructions in a page that both
 * processes see. The parent waits for its pidfd, so that nothing is checked before the child is
 * dead, or for its stop. */
#include "tests/support/sweep.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "tests/support/stepping.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define HANG_NS   (20 * HUB_SECOND) /* far more than an operation of a few thousand steps takes */
#define LOOKS_MAX 2000 /* checks for a stop before the parent sleeps between two of them */

struct run {
    const struct sweep *sweep;
    struct sweep_result *result;
    struct stepping *shared;
    bool outside;
    bool freely; /* the next child runs freely over the known part */
    uint64_t step;
    pid_t child;
    int pidfd;
};

/* How the child of one step ended, or stopped. */
enum outcome { OUTCOME_DIED, OUTCOME_STOPPED, OUTCOME_FINISHED, OUTCOME_HUNG, OUTCOME_CRASHED };

int sweep_fail(struct sweep_point *point, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(point->text, sizeof(point->text), format, arguments);
    va_end(arguments);
    return -1;
}

__attribute__((format(printf, 3, 4))) static int give_up(struct run *run, int code,
                                                         const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(run->result->text, sizeof(run->result->text), format, arguments);
    va_end(arguments);
    return code;
}

/* Never returns: the child must not use the parent's buffers and exit handlers. Bare system calls,
 * because they are stepped too. */
__attribute__((noreturn)) static void be_child(const struct run *run, pid_t parent)
{
    const struct sweep *sweep = run->sweep;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (run->outside) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        syscall(SYS_kill, getpid(), SIGSTOP);
        sweep->operation(sweep->user);
        syscall(SYS_exit_group, 0);
    }
    stepping_begin(run->shared);
    sweep->operation(sweep->user);
    stepping_end();
    _exit(0);
}

static int start_child(struct run *run)
{
    pid_t parent = getpid();

    stepping_prepare(run->shared, run->step, run->freely);
    run->shared->signal = run->sweep->mode == SWEEP_KILL ? SIGKILL : SIGSTOP;
    run->child = fork();
    if (run->child < 0)
        return give_up(run, -errno, "cannot fork: %s", strerror(errno));
    if (run->child == 0)
        be_child(run, parent);
    run->pidfd = pidfd_open(run->child, 0);
    if (run->pidfd < 0)
        return give_up(run, -errno, "cannot open a pidfd: %s", strerror(errno));
    return 0;
}

static void end_child(struct run *run)
{
    siginfo_t info;

    if (run->child <= 0)
        return;
    kill(run->child, SIGKILL);
    waitid(P_PID, (id_t)run->child, &info, WEXITED);
    if (run->pidfd >= 0)
        close(run->pidfd);
    run->child = 0;
    run->pidfd = -1;
}

/* Waits for the next change of the child's state and consumes it; false after HANG_NS. A pidfd
 * reports only a death, so a stop is polled: often at first, since a traced step ends at once. */
static bool next_change(const struct run *run, siginfo_t *info, int which)
{
    uint64_t deadline = hub_clock_after(HANG_NS);
    struct pollfd death = {.fd = run->pidfd, .events = POLLIN};
    unsigned looks = which & WSTOPPED ? 0 : LOOKS_MAX;

    for (;;) {
        info->si_pid = 0;
        if (waitid(P_PID, (id_t)run->child, info, which | WNOHANG) == 0 && info->si_pid != 0)
            return true;
        if (hub_clock_left(deadline) == 0)
            return false;
        if (looks++ < LOOKS_MAX)
            sched_yield();
        else
            poll(&death, 1, which & WSTOPPED ? 1 : 1000);
    }
}

/* Interprets a change. A child that has ended was reaped with it: its pid may be reused, so it must
 * not be waited for or signalled again. */
static enum outcome outcome_of(struct run *run, const siginfo_t *info)
{
    if (info->si_code == CLD_STOPPED || info->si_code == CLD_TRAPPED)
        return OUTCOME_STOPPED;
    close(run->pidfd);
    run->child = 0;
    run->pidfd = -1;
    if (info->si_code == CLD_EXITED && info->si_status == 0)
        return OUTCOME_FINISHED;
    if (info->si_code == CLD_KILLED && info->si_status == SIGKILL)
        return OUTCOME_DIED;
    give_up(run, 0, "the child ended by itself after instruction %llu: %s %d",
            (unsigned long long)run->shared->done,
            info->si_code == CLD_EXITED ? "status" : "signal", info->si_status);
    return OUTCOME_CRASHED;
}

static enum outcome wait_for_child(struct run *run)
{
    siginfo_t info = {0};
    bool stops = run->outside || run->sweep->mode != SWEEP_KILL;

    if (!next_change(run, &info, WEXITED | (stops ? WSTOPPED : 0))) {
        give_up(run, 0, "the operation did not end; it stood after instruction %llu",
                (unsigned long long)run->shared->done);
        return OUTCOME_HUNG;
    }
    return outcome_of(run, &info);
}

/* Steps the child by ptrace up to `run->step`, and then does the same as the trap flag's handler. A
 * signal of its own, above all a fault, is passed on. */
static enum outcome step_from_outside(struct run *run)
{
    enum outcome outcome = wait_for_child(run);
    siginfo_t info = {0};
    int pass_on = 0;

    while (outcome == OUTCOME_STOPPED && run->shared->done < run->step) {
        ptrace(PTRACE_SINGLESTEP, run->child, NULL, (void *)(intptr_t)pass_on);
        run->shared->done++;
        if (!next_change(run, &info, WEXITED | WSTOPPED))
            return OUTCOME_HUNG;
        pass_on = info.si_status == SIGTRAP ? 0 : info.si_status;
        outcome = outcome_of(run, &info);
    }
    if (outcome != OUTCOME_STOPPED)
        return outcome;
    if (run->shared->signal == SIGSTOP)
        ptrace(PTRACE_DETACH, run->child, NULL, (void *)(intptr_t)SIGSTOP);
    else
        kill(run->child, SIGKILL);
    return wait_for_child(run);
}

static void note_failure(struct run *run, const char *text)
{
    struct sweep_result *result = run->result;

    if (result->failures++ > 0)
        return;
    result->first_failure = run->step;
    snprintf(result->text, sizeof(result->text), "%s", text);
}

static void check(struct run *run, bool finished, bool stopped)
{
    struct sweep_point point = {.step = run->step, .finished = finished, .stopped = stopped};

    if (run->sweep->check(run->sweep->user, &point) != 0)
        note_failure(run, point.text[0] ? point.text : "check failed without a text");
}

/* The check runs while the child is stopped; then the operation continues, or never does. */
static enum outcome go_on_after_stop(struct run *run)
{
    enum outcome outcome;

    check(run, false, true);
    kill(run->child, run->sweep->mode == SWEEP_STOP ? SIGCONT : SIGKILL);
    do {
        outcome = wait_for_child(run);
    } while (outcome == OUTCOME_STOPPED);
    if (outcome == OUTCOME_FINISHED || outcome == OUTCOME_DIED)
        check(run, outcome == OUTCOME_FINISHED, false);
    return outcome;
}

/* The operation ended before instruction k. */
static int at_the_end(struct run *run)
{
    if (run->shared->done == 0)
        return give_up(run, -ENOTSUP,
                       "no instruction was stepped: another program holds the traps");
    run->result->complete = true;
    run->result->steps = run->shared->done;
    check(run, true, false);
    return 0;
}

/* -EAGAIN: the child took another path than earlier ones. */
static int point(struct run *run)
{
    enum outcome outcome = run->outside ? step_from_outside(run) : wait_for_child(run);

    if (outcome == OUTCOME_FINISHED && run->shared->astray)
        return -EAGAIN;
    if (outcome == OUTCOME_FINISHED)
        return at_the_end(run);
    if (outcome == OUTCOME_DIED || outcome == OUTCOME_STOPPED)
        run->result->points++;
    if (outcome == OUTCOME_DIED)
        check(run, false, false);
    if (outcome == OUTCOME_STOPPED)
        outcome = go_on_after_stop(run);
    if (outcome == OUTCOME_HUNG)
        return -ETIMEDOUT;
    return outcome == OUTCOME_CRASHED ? -ECHILD : 0;
}

static int try_step(struct run *run, bool freely)
{
    const struct sweep *sweep = run->sweep;
    int r;

    run->freely = freely;
    if (sweep->setup(sweep->user) != 0)
        return give_up(run, -EINVAL, "setup failed at step %llu", (unsigned long long)run->step);
    r = start_child(run);
    if (r == 0)
        r = point(run);
    end_child(run);
    if (sweep->teardown)
        sweep->teardown(sweep->user);
    return r;
}

static int one_step(struct run *run)
{
    int r = try_step(run, !run->outside && !run->sweep->steps_only);

    if (r != -EAGAIN)
        return r;
    run->result->astray++;
    return try_step(run, false);
}

static int all_steps(struct run *run)
{
    const struct sweep *sweep = run->sweep;
    uint64_t deadline = sweep->time_ns ? hub_clock_after(sweep->time_ns) : HUB_NEVER;
    uint64_t stride = sweep->stride ? sweep->stride : 1;
    int r = 0;

    for (run->step = sweep->start ? sweep->start : 1; r == 0 && !run->result->complete;
         run->step += stride) {
        if (sweep->points_max && run->result->points >= sweep->points_max)
            break;
        if (hub_clock_left(deadline) == 0)
            break;
        run->result->last = run->step;
        r = one_step(run);
    }
    return r;
}

/* On arm64 a step clears the exclusive monitor, so a load-exclusive loop would never end. With
 * atomics in single instructions there is no such loop. */
static bool outside_possible(void)
{
#if defined(__aarch64__)
    return (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
#else
    return true;
#endif
}

int sweep_run(const struct sweep *sweep, struct sweep_result *result)
{
    struct run run = {.sweep = sweep, .result = result, .pidfd = -1};
    void *page;
    int r;

    *result = (struct sweep_result){0};
    run.outside = sweep->from_outside || !stepping_possible();
    if (run.outside && !outside_possible())
        return give_up(&run, -ENOTSUP, "this CPU has atomics that cannot be stepped over");
    page =
        mmap(NULL, sizeof(*run.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return give_up(&run, -errno, "no memory to share");
    run.shared = page;
    r = all_steps(&run);
    munmap(page, sizeof(*run.shared));
    return r;
}

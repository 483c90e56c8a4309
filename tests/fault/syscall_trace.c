/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/syscall_trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__aarch64__)
#include <elf.h>
#include <sys/uio.h>
#endif

#include "hub/base/clock.h"

#define LIMIT      (30 * HUB_SECOND)
#define QUIET      (25 * HUB_MILLISECOND)  /* without a call: it is idle */
#define BUSY       (300 * HUB_MILLISECOND) /* it will never be */
#define STOPPED_AT (SIGTRAP | 0x80)
#define OPTIONS    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)
#define FOLLOWING  (PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL)

/* ---- threads ---- */

static struct syscall_trace_thread *thread_of(struct syscall_trace *trace, pid_t id)
{
    struct syscall_trace_thread *free = NULL;

    for (unsigned i = 0; i < SYSCALL_TRACE_THREADS; i++) {
        if (trace->threads[i].id == id)
            return &trace->threads[i];
        if (!free && trace->threads[i].id == 0)
            free = &trace->threads[i];
    }
    if (free)
        *free = (struct syscall_trace_thread){id, -1, false};
    return free;
}

static void forget_thread(struct syscall_trace *trace, pid_t id)
{
    for (unsigned i = 0; i < SYSCALL_TRACE_THREADS; i++)
        if (trace->threads[i].id == id)
            trace->threads[i].id = 0;
}

static void go_on(pid_t thread, int signal)
{
    (void)ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)signal);
}

/* ---- a call fails ---- */

#if defined(__x86_64__)
static void skip_call(pid_t thread)
{
    (void)ptrace(PTRACE_POKEUSER, thread, (void *)offsetof(struct user, regs.orig_rax), (void *)-1);
}

static void set_result(pid_t thread, int error)
{
    (void)ptrace(PTRACE_POKEUSER, thread, (void *)offsetof(struct user, regs.rax),
                 (void *)(intptr_t)-error);
}
#elif defined(__aarch64__)
static void skip_call(pid_t thread)
{
    int none = -1;
    struct iovec to = {&none, sizeof none};

    (void)ptrace(PTRACE_SETREGSET, thread, (void *)NT_ARM_SYSTEM_CALL, &to);
}

static void set_result(pid_t thread, int error)
{
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};

    if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &all) != 0)
        return;
    registers.regs[0] = (uint64_t)(int64_t)-error;
    (void)ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &all);
}
#endif

/* ---- stops ---- */

static void count(struct syscall_trace *trace, long number)
{
    if (number >= 0 && number < SYSCALL_TRACE_KINDS)
        trace->seen[number]++;
    trace->stops++;
    if (trace->stops != trace->at)
        return;
    trace->reached = true;
    trace->last = number;
}

static void before_call(struct syscall_trace *trace, struct syscall_trace_thread *thread,
                        const struct __ptrace_syscall_info *info)
{
    struct syscall_trace_call call = {trace->target, thread->id, (long)info->entry.nr, {0}};

    memcpy(call.arguments, info->entry.args, sizeof call.arguments);
    thread->number = call.number;
    if (trace->counts && !trace->counts(trace->user, &call))
        return;
    count(trace, call.number);
    if (trace->error == 0 || !trace->reached)
        return;
    if (trace->stops == trace->at)
        trace->until_ns = hub_clock_after(trace->span_ns);
    else if (hub_clock_now() >= trace->until_ns)
        return;
    thread->fails = true;
    skip_call(thread->id);
}

static void after_call(struct syscall_trace *trace, struct syscall_trace_thread *thread)
{
    if (thread->fails)
        set_result(thread->id, trace->error);
    if (trace->error == 0 && !trace->counts)
        count(trace, thread->number);
    thread->fails = false;
    thread->number = -1;
}

/* Returns whether the target is killed there. */
static bool at_call(struct syscall_trace *trace, pid_t id)
{
    struct syscall_trace_thread *thread = thread_of(trace, id);
    struct __ptrace_syscall_info info = {0};
    bool before = trace->reached;

    if (!thread || ptrace(PTRACE_GET_SYSCALL_INFO, id, (void *)sizeof info, &info) <= 0)
        return false;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        before_call(trace, thread, &info);
    else
        after_call(trace, thread);
    if (trace->error != 0 || before || !trace->reached)
        return false;
    kill(trace->target, SIGKILL);
    return true;
}

/* The parent has made its child, and is left alone. */
static void take_child(struct syscall_trace *trace)
{
    unsigned long child = 0;

    (void)ptrace(PTRACE_GETEVENTMSG, trace->parent, NULL, &child);
    trace->target = (pid_t)child;
    (void)ptrace(PTRACE_DETACH, trace->parent, NULL, NULL);
    trace->parent = 0;
}

static void at_stop(struct syscall_trace *trace, pid_t id, int status)
{
    int signal = WSTOPSIG(status), event = status >> 16;

    if (id == trace->parent && event == PTRACE_EVENT_FORK) {
        take_child(trace);
    } else if (id == trace->parent) {
        (void)ptrace(PTRACE_CONT, id, NULL, (void *)(intptr_t)(event == 0 ? signal : 0));
    } else if (signal == STOPPED_AT) {
        if (!at_call(trace, id))
            go_on(id, 0);
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
        (void)ptrace(PTRACE_LISTEN, id, NULL, NULL);
    } else {
        if (event == PTRACE_EVENT_STOP && thread_of(trace, id))
            (void)ptrace(PTRACE_SETOPTIONS, id, NULL, (void *)(intptr_t)OPTIONS);
        go_on(id, event == 0 ? signal : 0);
    }
}

static void at_end(struct syscall_trace *trace, pid_t id, int status)
{
    forget_thread(trace, id);
    if (id == trace->target)
        trace->dead = true;
    for (unsigned i = 0; i < sizeof trace->children / sizeof *trace->children; i++)
        if (trace->children[i] && trace->children[i]->pid == id) {
            trace->children[i]->ended = true;
            trace->children[i]->status = status;
        }
}

/* ---- begin ---- */

static void clear(struct syscall_trace *trace)
{
    trace->target = trace->parent = 0;
    trace->until_ns = 0;
    trace->stops = 0;
    trace->reached = trace->dead = false;
    trace->last = -1;
    memset(trace->seen, 0, sizeof trace->seen);
    memset(trace->threads, 0, sizeof trace->threads);
}

/* Returns how many threads it began to follow; those that come later are followed by themselves. */
static unsigned seize_threads(pid_t target)
{
    unsigned seized = 0;
    char path[64];
    struct dirent *entry;
    DIR *threads;

    snprintf(path, sizeof path, "/proc/%d/task", (int)target);
    threads = opendir(path);
    while (threads && (entry = readdir(threads))) {
        pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);

        if (id <= 0 || ptrace(PTRACE_SEIZE, id, NULL, (void *)(intptr_t)OPTIONS) != 0)
            continue;
        (void)ptrace(PTRACE_INTERRUPT, id, NULL, NULL);
        seized++;
    }
    if (threads)
        closedir(threads);
    return seized;
}

static void watch_children(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, before);
}

int syscall_trace_attach(struct syscall_trace *trace, pid_t target)
{
    clear(trace);
    watch_children(NULL);
    trace->target = target;
    if (target <= 0 || seize_threads(target) == 0)
        return -1;
    while (seize_threads(target) > 0)
        continue;
    return 0;
}

int syscall_trace_attach_new(struct syscall_trace *trace, pid_t process, bool child)
{
    if (!child)
        return syscall_trace_attach(trace, process);
    clear(trace);
    watch_children(NULL);
    trace->parent = process;
    return ptrace(PTRACE_SEIZE, process, NULL, (void *)(intptr_t)FOLLOWING) == 0 ? 0 : -1;
}

/* Only system calls that are allowed after a fork. */
__attribute__((noreturn)) static void be_child(char *const words[], const char *output,
                                               const int gate[2])
{
    int out = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;
    char byte;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(out, STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close(gate[1]);
    if (read(gate[0], &byte, 1) == 1)
        execv(words[0], words);
    _exit(126);
}

pid_t syscall_trace_spawn(char *const words[], const char *output, int *fd)
{
    int gate[2];
    pid_t pid;

    if (pipe2(gate, O_CLOEXEC) != 0)
        return -1;
    pid = fork();
    if (pid == 0)
        be_child(words, output, gate);
    close(gate[0]);
    *fd = gate[1];
    return pid;
}

void syscall_trace_release(int fd)
{
    (void)!write(fd, "", 1);
    close(fd);
}

/* ---- the loop ---- */

static bool first_has_ended(const struct syscall_trace *trace)
{
    return trace->children[0] && trace->children[0]->ended;
}

/* Takes all stops and ends that are there; returns how many. */
static unsigned take_all(struct syscall_trace *trace)
{
    unsigned taken = 0;
    int status;
    pid_t id;

    while ((id = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
        taken++;
        if (WIFSTOPPED(status))
            at_stop(trace, id, status);
        else
            at_end(trace, id, status);
    }
    return taken;
}

static void nap(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / HUB_SECOND), (long)(ns % HUB_SECOND)};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    (void)sigtimedwait(&set, NULL, &time);
}

/* A stop of a thread that is left alone from here on. */
static void detach(struct syscall_trace *trace, pid_t id, int status)
{
    int signal = status >> 16 == 0 && WSTOPSIG(status) != STOPPED_AT ? WSTOPSIG(status) : 0;

    struct syscall_trace_thread *thread = thread_of(trace, id);

    if (thread && thread->fails)
        set_result(id, trace->error);
    (void)ptrace(PTRACE_DETACH, id, NULL, (void *)(intptr_t)signal);
    forget_thread(trace, id);
}

static unsigned interrupt_threads(const struct syscall_trace *trace)
{
    unsigned left = 0;

    for (unsigned i = 0; i < SYSCALL_TRACE_THREADS; i++) {
        if (trace->threads[i].id <= 0)
            continue;
        (void)ptrace(PTRACE_INTERRUPT, trace->threads[i].id, NULL, NULL);
        left++;
    }
    return left;
}

static void let_go(struct syscall_trace *trace)
{
    uint64_t deadline_ns = hub_clock_after(HUB_SECOND);
    int status;
    pid_t id;

    while (interrupt_threads(trace) > 0 && hub_clock_left(deadline_ns) > 0) {
        while ((id = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
            if (WIFSTOPPED(status))
                detach(trace, id, status);
            else
                at_end(trace, id, status);
        }
        nap(HUB_MILLISECOND);
    }
}

bool syscall_trace_run(struct syscall_trace *trace)
{
    uint64_t limit_ns = hub_clock_after(LIMIT), quiet_ns = hub_clock_after(QUIET), busy_ns = 0;
    bool ended = false;

    while (!ended && hub_clock_left(limit_ns) > 0) {
        if (take_all(trace) > 0)
            quiet_ns = hub_clock_after(QUIET);
        else
            nap(5 * HUB_MILLISECOND);
        if (first_has_ended(trace) && busy_ns == 0)
            busy_ns = hub_clock_after(BUSY);
        ended = trace->dead || (first_has_ended(trace) &&
                                (hub_clock_left(quiet_ns) == 0 || hub_clock_left(busy_ns) == 0));
    }
    let_go(trace);
    return ended;
}

bool syscall_trace_await(struct syscall_trace_child *child)
{
    uint64_t deadline_ns = hub_clock_after(LIMIT);

    watch_children(NULL);
    while (!child->ended && hub_clock_left(deadline_ns) > 0) {
        if (waitpid(child->pid, &child->status, WNOHANG) == child->pid)
            child->ended = true;
        else
            nap(5 * HUB_MILLISECOND);
    }
    return child->ended;
}

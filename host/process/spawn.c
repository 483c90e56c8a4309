/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/proof.h"
#include "hub/base/rlimit.h"
#include "hub/base/thread.h"

#define STACK_SIZE    ((size_t)128 << 10)
#define KERNEL_MASK   8 /* bytes of the kernel's signal set */
#define SIGNALS       64
#define SLICE         (3600 * HUB_SECOND) /* length of one wait; the thread waits again after it */
#define STATUS_FAILED 127

enum turn { TURN_IDLE, TURN_ORDERED, TURN_DONE, TURN_END };

/* Shared by the owner and the thread; the other members belong to the side whose turn it is. */
struct host_spawner {
    struct hub_a32 turn; /* enum turn */
    pthread_t thread;
    pid_t host; /* this process */
    const struct host_spawn_order *order;
    struct host_spawned spawned;
    const char *step; /* of the child, written in the memory that both share */
    int failure;      /* -errno */
    char *stack;
};

/* The kernel's struct sigaction: default handler, no flags, no mask. */
struct kernel_action {
    uint64_t words[4];
};

/* The child of a vfork shares the memory of a suspended thread. It must neither allocate nor lock,
 * nor touch data that other threads of the host use: only system calls. */
#define IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

IN_CHILD static void reset_signals(void)
{
    static const struct kernel_action by_default;
    uint64_t none = 0;

    for (int number = 1; number <= SIGNALS; number++)
        syscall(SYS_rt_sigaction, number, &by_default, NULL, KERNEL_MASK);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_MASK);
}

/* Moves a descriptor beyond all target numbers. If the limit of numbers does not allow that, the
 * error is that no number is left. */
IN_CHILD static int move_beyond(int descriptor, int count)
{
    int moved;

    if (descriptor < 0 || descriptor >= count)
        return descriptor;
    moved = (int)syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, count);
    if (moved < 0 && errno == EINVAL)
        errno = EMFILE;
    return moved;
}

/* First moves all descriptors away, then each to its number, because a source may have the number
 * of another's target. r[impl hub.spawn.fds] r[impl shm.spawn.fd-inheritance] */
IN_CHILD static const char *place_descriptors(const struct host_spawn_order *order)
{
    int above[HOST_SPAWN_DESCRIPTORS];

    for (int i = 0; i < order->count; i++) {
        above[i] = move_beyond(order->descriptors[i], order->count);
        if (above[i] < 0 && order->descriptors[i] >= 0)
            return "descriptors";
    }
    for (int i = 0; i < order->count; i++) {
        if (above[i] < 0)
            syscall(SYS_close, i);
        else if (syscall(SYS_dup3, above[i], i, 0) < 0)
            return "descriptors";
    }
    return syscall(SYS_close_range, order->count, ~0U, 0) < 0 ? "close_range" : NULL;
}

/* Comes after the descriptors, some of which may have numbers that it could no longer open. */
IN_CHILD static const char *set_limits(const struct host_limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        const struct host_limit *limit = &limits->list[i];

        if (syscall(SYS_prlimit64, 0, limit->resource, &limit->value, NULL) < 0)
            return limit->name;
    }
    return NULL;
}

/* Comes first, so that everything the process has and makes from here on counts.
 * r[impl supervise.limits.cgroup] */
IN_CHILD static const char *enter_cgroup(const struct host_spawn_order *order)
{
    static const char self[] = "0";

    return order->confined && syscall(SYS_write, order->cgroup, self, 1) != 1 ? "cgroup" : NULL;
}

/* The guest must not get the signals of the host's terminal. A session leader would be scheduled as
 * a group of its own, and wait long on some kernels (docs/adr/0018). A process group without the
 * terminal is separate enough. r[impl hub.spawn.group] */
IN_CHILD static void leave_group(void)
{
    int terminal;

    syscall(SYS_setpgid, 0, 0);
    terminal = (int)syscall(SYS_openat, AT_FDCWD, "/dev/tty",
                            O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
    if (terminal < 0) /* the host has none */
        return;
    syscall(SYS_ioctl, terminal, TIOCNOTTY, 0);
    syscall(SYS_close, terminal);
}

/* The kernel sends the signal when the thread ends that made the child: the spawner's, which lives
 * as long as the host. It is set here and not by the guest, which does not know its parent. If the
 * host died before, the parent is another process by now; 0: it is in another namespace.
 * r[impl supervise.orphan] */
IN_CHILD static void end_with_host(pid_t host)
{
    pid_t parent;

    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    parent = (pid_t)syscall(SYS_getppid);
    if (parent != host && parent != 0)
        syscall(SYS_exit_group, STATUS_FAILED);
}

IN_CHILD static int run_child(void *argument)
{
    struct host_spawner *spawner = argument;
    const struct host_spawn_order *order = spawner->order;
    const char *step;

    end_with_host(spawner->host);
    reset_signals();
    leave_group();
    step = enter_cgroup(order);
    if (!step)
        step = place_descriptors(order);
    if (!step)
        step = set_limits(order->limits);
    if (!step && order->no_new_privs && syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        step = "no_new_privs";
    if (!step) {
        syscall(SYS_execve, order->program, order->arguments, order->environment);
        step = "exec";
    }
    spawner->failure = -errno;
    spawner->step = step;
    syscall(SYS_exit_group, STATUS_FAILED);
    return 0;
}

/* A child that could not exec its program is reaped at once: it counts as never made. */
static void take_failed(const struct host_spawned *spawned)
{
    siginfo_t info;

    while (waitid(P_PIDFD, (id_t)spawned->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        continue;
    close(spawned->pidfd);
}

/* ThreadSanitizer wraps clone(2) and takes every child for a fork, even one that shares its memory,
 * and then ignores this thread's synchronisation. glibc's other name is not wrapped. */
#ifdef __SANITIZE_THREAD__
extern int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif

static void make_child(struct host_spawner *spawner)
{
    const int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
    int pidfd = -1, pid;

    spawner->failure = 0;
    spawner->step = "clone";
    spawner->host = getpid();
    pid = clone(run_child, spawner->stack + STACK_SIZE, flags, spawner, &pidfd);
    if (pid < 0) {
        spawner->failure = -errno;
        return;
    }
    spawner->spawned = (struct host_spawned){pid, pidfd, ""};
    if (spawner->failure < 0)
        take_failed(&spawner->spawned);
}

static void wait_while(struct host_spawner *spawner, enum turn turn)
{
    while (hub_observe(&spawner->turn) == (uint32_t)turn)
        hub_futex_wait_private(&spawner->turn, (uint32_t)turn, hub_clock_after(SLICE));
}

static void give_turn(struct host_spawner *spawner, enum turn turn)
{
    hub_publish(&spawner->turn, (uint32_t)turn);
    hub_futex_wake_private(&spawner->turn);
}

static void *run_thread(void *argument)
{
    struct host_spawner *spawner = argument;
    uint32_t turn;

    for (;;) {
        turn = hub_observe(&spawner->turn);
        if (turn == TURN_END)
            return NULL;
        if (turn == TURN_ORDERED) {
            make_child(spawner);
            give_turn(spawner, TURN_DONE);
        } else {
            wait_while(spawner, (enum turn)turn);
        }
    }
}

int host_spawn_open(struct host_spawner **out)
{
    struct host_spawner *spawner = calloc(1, sizeof *spawner);
    int r = -ENOMEM;

    if (spawner)
        spawner->stack = aligned_alloc(64, STACK_SIZE);
    if (spawner && spawner->stack) /* no signal of the host is handled on it either */
        r = hub_thread_start(&spawner->thread, run_thread, spawner);
    if (r < 0) {
        if (spawner)
            free(spawner->stack);
        free(spawner);
        rapahub_fail(r, "", "cannot start the thread that makes guests");
        /* other errors are explained by the caller */
        return r == -EAGAIN ? hub_rlimit_explain(r, 0) : r;
    }
    *out = spawner;
    return 0;
}

void host_spawn_close(struct host_spawner **spawner)
{
    if (!*spawner)
        return;
    give_turn(*spawner, TURN_END);
    pthread_join((*spawner)->thread, NULL);
    free((*spawner)->stack);
    free(*spawner);
    *spawner = NULL;
}

int host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
               struct host_spawned *out)
{
    spawner->order = order;
    give_turn(spawner, TURN_ORDERED);
    wait_while(spawner, TURN_ORDERED);
    out->step = spawner->step;
    if (spawner->failure < 0) {
        rapahub_fail(spawner->failure, "", "cannot start %s: %s: %s", order->program, spawner->step,
                     strerrordesc_np(-spawner->failure));
        return spawner->failure == -EAGAIN ? hub_rlimit_explain(-EAGAIN, 0) : spawner->failure;
    }
    *out = spawner->spawned;
    return 0;
}

/* ---- a program that is no guest ---- */

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    int r;

    sigfillset(&all);
    sigemptyset(&none);
    r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETSID);
    return r;
}

static int set_actions(posix_spawn_file_actions_t *actions)
{
    int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    return r == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1) : r;
}

/* Without a pidfd its end could not be waited for. */
static int open_pidfd(struct host_spawned *spawned)
{
    const id_t number = (id_t)spawned->pid;
    siginfo_t info;

    spawned->pidfd = hub_proof_open(spawned->pid);
    if (spawned->pidfd >= 0)
        return 0;
    /* it is still our child */
    if (waitid(P_PID, number, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        (void)kill(spawned->pid, SIGKILL);
        (void)waitid(P_PID, number, &info, WEXITED);
    }
    return spawned->pidfd;
}

int host_spawn_command(char *const *arguments, char *const *environment, struct host_spawned *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r;

    *out = (struct host_spawned){.pidfd = -1, .step = "command"};
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    r = set_attributes(&attributes);
    if (r == 0)
        r = set_actions(&actions);
    if (r == 0)
        r = posix_spawn(&out->pid, arguments[0], &actions, &attributes, arguments, environment);
    r = r == 0 ? open_pidfd(out) : -r;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (r < 0)
        return rapahub_fail(r, "", "cannot start %s: %s", arguments[0], strerrordesc_np(-r));
    return 0;
}

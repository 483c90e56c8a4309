/* SPDX-License-Identifier: Apache-2.0 */
#include "host/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"

#define STACK_SIZE    ((size_t)128 << 10)
#define ABOVE         16 /* where a child keeps its descriptors before they get their numbers */
#define KERNEL_MASK   8  /* bytes of the kernel's signal set */
#define SIGNALS       64
#define SLICE         (3600 * HUB_SECOND) /* of a wait: no order is ever missed */
#define STATUS_FAILED 127

enum turn { TURN_IDLE, TURN_ORDERED, TURN_DONE, TURN_END };

/* Between the owner and the thread: whoever's turn it is has the rest. */
struct host_spawner {
    struct hub_a32 turn; /* enum turn */
    pthread_t thread;
    const struct host_spawn_order *order;
    struct host_spawned spawned;
    const char *step; /* of the child; written in the memory both share */
    int failure;      /* -errno */
    char *stack;
};

/* The kernel's struct sigaction: default handler, no flags, no mask. */
struct kernel_action {
    uint64_t words[4];
};

/* The child of a vfork: it shares the memory of a suspended thread. It must neither allocate nor
 * lock, nor touch what other threads of the host use; system calls only. */
#define IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

IN_CHILD static void reset_signals(void)
{
    static const struct kernel_action by_default;
    uint64_t none = 0;

    for (int number = 1; number <= SIGNALS; number++)
        syscall(SYS_rt_sigaction, number, &by_default, NULL, KERNEL_MASK);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_MASK);
}

/* First all out of the way, then each to its number: a source may have the number of another's
 * target. r[impl hub.spawn.fds] r[impl shm.spawn.fd-inheritance] */
IN_CHILD static const char *place_descriptors(const struct host_spawn_order *order)
{
    int above[HOST_SPAWN_DESCRIPTORS];

    for (int i = 0; i < HOST_SPAWN_DESCRIPTORS; i++) {
        above[i] = order->descriptors[i];
        if (above[i] < 0)
            continue;
        above[i] = (int)syscall(SYS_fcntl, above[i], F_DUPFD_CLOEXEC, ABOVE);
        if (above[i] < 0)
            return "descriptors";
    }
    for (int i = 0; i < HOST_SPAWN_DESCRIPTORS; i++) {
        if (above[i] < 0)
            syscall(SYS_close, i);
        else if (syscall(SYS_dup3, above[i], i, 0) < 0)
            return "descriptors";
    }
    return syscall(SYS_close_range, HOST_SPAWN_DESCRIPTORS, ~0U, 0) < 0 ? "close_range" : NULL;
}

IN_CHILD static int run_child(void *argument)
{
    struct host_spawner *spawner = argument;
    const struct host_spawn_order *order = spawner->order;
    const char *step;

    reset_signals();
    syscall(SYS_setsid);
    step = place_descriptors(order);
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

/* A child that could not become its program is taken at once: it never was. */
static void take_failed(const struct host_spawned *spawned)
{
    siginfo_t info;

    while (waitid(P_PIDFD, (id_t)spawned->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        continue;
    close(spawned->pidfd);
}

/* ThreadSanitizer wraps clone(2) and takes any child for a fork, also one that shares its memory:
 * then it no longer looks at this thread's synchronisation. glibc's other name is not wrapped. */
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
    pid = clone(run_child, spawner->stack + STACK_SIZE, flags, spawner, &pidfd);
    if (pid < 0) {
        spawner->failure = -errno;
        return;
    }
    spawner->spawned = (struct host_spawned){pid, pidfd};
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

/* No signal of the host is ever handled on this thread, nor on the stack of a child. */
static int start_thread(struct host_spawner *spawner)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&spawner->thread, NULL, run_thread, spawner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

int host_spawn_open(struct host_spawner **out)
{
    struct host_spawner *spawner = calloc(1, sizeof *spawner);
    int r = -ENOMEM;

    if (spawner)
        spawner->stack = aligned_alloc(64, STACK_SIZE);
    if (spawner && spawner->stack)
        r = start_thread(spawner);
    if (r < 0) {
        if (spawner)
            free(spawner->stack);
        free(spawner);
        return rapahub_fail(r, "", "cannot start the thread that makes guests");
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
    if (spawner->failure < 0)
        return rapahub_fail(spawner->failure, "", "cannot start %s: %s: %s", order->program,
                            spawner->step, strerrordesc_np(-spawner->failure));
    *out = spawner->spawned;
    return 0;
}

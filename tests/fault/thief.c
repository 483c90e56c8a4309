/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/thief.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/process/spawn.h"
#include "tests/support/pause.h"

#define TO_GROUP    4 /* PIDFD_SIGNAL_PROCESS_GROUP */
#define PROCESSES   64
#define GIVE_WITHIN 100 /* ms: until a number that was given back can be had */

long __real_syscall(long number, ...);
int __real_kill(pid_t pid, int number);

static struct {
    bool armed, old;
    unsigned at, chances;
    enum thief_end end;
    struct {
        int pidfd;
        pid_t pid;
    } known[PROCESSES]; /* the last ones */
    unsigned known_count;
    pid_t told, stranger;
    int stranger_pidfd;
} thief = {.stranger_pidfd = -1};

/* ---- a stranger of that number ---- */

/* It shares nothing but the program, and any signal ends it. */
__attribute__((no_sanitize("address", "thread", "undefined"), noreturn)) static void stand_by(void)
{
    __real_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    __real_syscall(SYS_setpgid, 0, 0);
    for (;;)
        __real_syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

/* Its pid, or -errno. */
static pid_t create(pid_t number, int *pidfd)
{
    struct clone_args how = {.flags = CLONE_PIDFD,
                             .pidfd = (uintptr_t)pidfd,
                             .exit_signal = SIGCHLD,
                             .set_tid = (uintptr_t)&number,
                             .set_tid_size = 1};
    long r = __real_syscall(SYS_clone3, &how, sizeof how);

    if (r == 0)
        stand_by();
    return r < 0 ? -errno : (pid_t)r;
}

static bool has_group(pid_t pid)
{
    return getpgid(pid) == pid;
}

static pid_t create_soon(pid_t number, int *pidfd)
{
    pid_t r = -EEXIST;

    for (int i = 0; i < GIVE_WITHIN && (r = create(number, pidfd)) == -EEXIST; i++)
        pause_ms(1);
    for (int i = 0; i < 1000 && r > 0 && !has_group(r); i++)
        pause_ms(1);
    return r;
}

static void end(pid_t pid, int *pidfd)
{
    siginfo_t info;

    if (*pidfd < 0)
        return;
    __real_syscall(SYS_pidfd_send_signal, *pidfd, SIGKILL, NULL, 0);
    if (waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED) < 0)
        fprintf(stderr, "stranger %d: %s\n", (int)pid, strerror(errno));
    close(*pidfd);
    *pidfd = -1;
}

/* ---- chances ---- */

/* Reaps as an embedder would that waits for all its children. */
static void take(pid_t pid)
{
    int pidfd = (int)__real_syscall(SYS_pidfd_open, pid, 0);
    struct pollfd ends = {.fd = pidfd, .events = POLLIN};
    siginfo_t info;

    if (pidfd < 0)
        return; /* it is gone already */
    __real_syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    (void)poll(&ends, 1, 10000);
    (void)waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
    close(pidfd);
}

static bool is_chance(pid_t pid)
{
    return pid > 0 && thief.armed && thief.chances++ == thief.at;
}

static void seize(pid_t pid)
{
    pid_t stranger = create_soon(pid, &thief.stranger_pidfd);

    thief.stranger = stranger > 0 ? stranger : 0;
    thief.end = stranger > 0 ? THIEF_STRANGER : THIEF_HELD;
    if (stranger < 0 && stranger != -EEXIST)
        fprintf(stderr, "no process %d: %s\n", (int)pid, strerror(-stranger));
}

static void know(int pidfd, pid_t pid)
{
    thief.known[thief.known_count % PROCESSES].pidfd = pidfd;
    thief.known[thief.known_count++ % PROCESSES].pid = pid;
}

/* 0: none of those that can be taken. */
static pid_t pid_of(int pidfd)
{
    for (unsigned i = thief.known_count; i > 0 && thief.known_count - i < PROCESSES; i--)
        if (thief.known[(i - 1) % PROCESSES].pidfd == pidfd)
            return thief.known[(i - 1) % PROCESSES].pid;
    return 0;
}

/* The child of a vfork comes by here, too. */
#define AS_IS __attribute__((no_sanitize("address", "thread", "undefined")))

static long signal_by(int pidfd, long number, long flags)
{
    pid_t pid = pid_of(pidfd);

    if (thief.old && flags == TO_GROUP) {
        errno = EINVAL;
        return -1;
    }
    if (is_chance(pid)) {
        take(pid);
        seize(pid);
    }
    return __real_syscall(SYS_pidfd_send_signal, pidfd, number, NULL, flags);
}

static long open_by(pid_t pid, long flags)
{
    long pidfd;

    if (pid == thief.told && is_chance(pid)) {
        take(pid);
        seize(pid);
    }
    pidfd = __real_syscall(SYS_pidfd_open, pid, flags);
    if (pidfd >= 0)
        know((int)pidfd, pid);
    return pidfd;
}

long __wrap_syscall(long number, ...);
AS_IS long __wrap_syscall(long number, ...)
{
    long arguments[6];
    va_list rest;

    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_pidfd_send_signal)
        return signal_by((int)arguments[0], arguments[1], arguments[3]);
    if (number == SYS_pidfd_open)
        return open_by((pid_t)arguments[0], arguments[1]);
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}

/* A group is known by its number only to an older kernel, and while its leader is not taken: so it
 * is not taken here, but the number is asked for. */
int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    pid_t leader = pid < 0 ? -pid : pid;

    if (is_chance(leader)) {
        if (pid > 0)
            take(pid);
        seize(leader);
    }
    return __real_kill(pid, number);
}

int __real_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out);
int __wrap_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out);
int __wrap_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out)
{
    int r = __real_host_spawn(spawner, order, out);

    if (r == 0)
        know(out->pidfd, out->pid);
    return r;
}

/* ---- for tests ---- */

void thief_arm(unsigned at, bool old)
{
    thief.at = at;
    thief.old = old;
    thief.armed = true;
    thief.chances = thief.known_count = 0;
    thief.told = thief.stranger = 0;
    thief.end = THIEF_NONE;
}

void thief_tell(pid_t pid)
{
    thief.told = pid;
}

int thief_stop(pid_t pid)
{
    return __real_kill(pid, SIGSTOP) < 0 ? -errno : 0;
}

unsigned thief_chances(void)
{
    return thief.chances;
}

enum thief_end thief_disarm(void)
{
    struct pollfd ends = {.fd = thief.stranger_pidfd, .events = POLLIN};

    thief.armed = thief.old = false;
    if (thief.end == THIEF_STRANGER && poll(&ends, 1, 0) != 0)
        thief.end = THIEF_BYSTANDER;
    end(thief.stranger, &thief.stranger_pidfd);
    return thief.end;
}

/* A number far from those in use. */
static bool can_choose(void)
{
    int pidfd = -1;
    pid_t pid = create(30011, &pidfd);

    if (pid < 0)
        return pid == -EEXIST;
    end(pid, &pidfd);
    return true;
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) >= 0;

    if (fd >= 0)
        close(fd);
    return done;
}

static bool enter_namespaces(void)
{
    char map[64];

    snprintf(map, sizeof map, "0 %d 1", (int)getuid());
    return unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == 0 &&
           put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", map);
}

bool thief_begin(void)
{
    int status = 0;
    pid_t child;

    if (can_choose())
        return true;
    if (!enter_namespaces())
        return false;
    child = fork();
    if (child == 0)
        return mount("proc", "/proc", "proc", 0, NULL) == 0 && can_choose();
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

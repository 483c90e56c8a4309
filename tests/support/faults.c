/* SPDX-License-Identifier: Apache-2.0 */
/* faults: a wrapper for each function. Wrapped functions have no object for a state, so the armed
 * fault is the one variable outside a struct. */
#include "tests/support/faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/atomic.h"

struct armed {
    struct hub_a32 function; /* 0: none; else its number plus one */
    struct hub_a64 left;     /* calls until it fails */
    struct hub_a32 fired;
    struct hub_a64 blocks;
    char path[64]; /* "": none */
};

static struct armed armed;

void faults_arm(enum faults_function function, uint64_t number)
{
    hub_store_relaxed(&armed.fired, 0);
    hub_store_relaxed64(&armed.left, number);
    hub_publish(&armed.function, (uint32_t)function + 1);
}

void faults_leave(const char *path)
{
    snprintf(armed.path, sizeof armed.path, "%s", path);
}

bool faults_disarm(void)
{
    hub_publish(&armed.function, 0);
    return faults_fired();
}

bool faults_fired(void)
{
    return hub_observe(&armed.fired) != 0;
}

int64_t faults_blocks(void)
{
    return (int64_t)hub_observe64(&armed.blocks);
}

static void *count(void *block)
{
    if (block)
        hub_add64(&armed.blocks, 1);
    return block;
}

int __real_open(const char *path, int flags, ...);

/* Says whether this call must fail. */
static bool fails(enum faults_function function, int error)
{
    if (hub_observe(&armed.function) != (uint32_t)function + 1 ||
        hub_add64(&armed.left, UINT64_MAX) != 1)
        return false;
    hub_publish(&armed.fired, 1);
    if (armed.path[0])
        close(__real_open(armed.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    errno = error;
    return true;
}

/* ---- the functions ---- */

#define FAULTS_ERROR(name, error) enum { error_of_##name = error };
FAULTS_EACH(FAULTS_ERROR)
#undef FAULTS_ERROR

#define WRAP(type, failure, name, parameters, arguments) \
    type __real_##name parameters;                       \
    type __wrap_##name parameters;                       \
    type __wrap_##name parameters                        \
    {                                                    \
        if (fails(FAULTS_##name, error_of_##name))       \
            return failure;                              \
        return __real_##name arguments;                  \
    }

#define WRAP_BLOCK(type, name, parameters, arguments) \
    type __real_##name parameters;                    \
    type __wrap_##name parameters;                    \
    type __wrap_##name parameters                     \
    {                                                 \
        if (fails(FAULTS_##name, error_of_##name))    \
            return NULL;                              \
        return count(__real_##name arguments);        \
    }

WRAP_BLOCK(void *, malloc, (size_t size), (size))
WRAP_BLOCK(void *, calloc, (size_t number, size_t size), (number, size))
WRAP_BLOCK(void *, aligned_alloc, (size_t unit, size_t size), (unit, size))
WRAP_BLOCK(char *, strdup, (const char *text), (text))

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
    bool is_new = !block;

    if (fails(FAULTS_realloc, error_of_realloc))
        return NULL;
    block = __real_realloc(block, size);
    return is_new ? count(block) : block;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    if (block)
        hub_add64(&armed.blocks, UINT64_MAX);
    __real_free(block);
}

WRAP(DIR *, NULL, opendir, (const char *path), (path))
WRAP(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP(int, -1, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, -1, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
WRAP(void *, MAP_FAILED, mmap, (void *at, size_t size, int how, int flags, int fd, off_t from),
     (at, size, how, flags, fd, from))
WRAP(int, -1, madvise, (void *at, size_t size, int advice), (at, size, advice))
WRAP(int, -1, fstat, (int fd, struct stat *out), (fd, out))
WRAP(int, -1, socketpair, (int domain, int type, int protocol, int *ends),
     (domain, type, protocol, ends))
WRAP(int, -1, pipe2, (int *ends, int flags), (ends, flags))
WRAP(int, -1, eventfd, (unsigned value, int flags), (value, flags))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, epoll_ctl, (int epoll, int how, int fd, struct epoll_event *event),
     (epoll, how, fd, event))
WRAP(int, -1, epoll_wait, (int epoll, struct epoll_event *events, int max, int timeout),
     (epoll, events, max, timeout))
WRAP(int, -1, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
WRAP(int, -1, ppoll,
     (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
     (fds, count, timeout, mask))
WRAP(int, -1, timerfd_create, (int clock, int flags), (clock, flags))
WRAP(int, -1, timerfd_settime,
     (int fd, int flags, const struct itimerspec *to, struct itimerspec *old), (fd, flags, to, old))
WRAP(ssize_t, -1, read, (int fd, void *to, size_t size), (fd, to, size))
WRAP(ssize_t, -1, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
WRAP(ssize_t, -1, write, (int fd, const void *from, size_t size), (fd, from, size))
WRAP(ssize_t, -1, send, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags))
WRAP(ssize_t, -1, recvmsg, (int fd, struct msghdr *to, int flags), (fd, to, flags))
WRAP(ssize_t, -1, sendmsg, (int fd, const struct msghdr *from, int flags), (fd, from, flags))
WRAP(ssize_t, -1, readlink, (const char *path, char *to, size_t size), (path, to, size))
WRAP(ssize_t, -1, getrandom, (void *to, size_t size, unsigned flags), (to, size, flags))
WRAP(int, -1, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
     (type, id, info, options))
WRAP(int, EAGAIN, pthread_create,
     (pthread_t * out, const pthread_attr_t *attributes, void *(*run)(void *), void *user),
     (out, attributes, run, user))
WRAP(int, EAGAIN, pthread_key_create, (pthread_key_t * out, void (*end)(void *)), (out, end))

/* ---- variadic functions: this reads more arguments than there may be ---- */

#define READS_BEYOND __attribute__((no_sanitize("address")))

#define WRAP_VARIADIC(name, count, parameters, ...)  \
    int __real_##name parameters;                    \
    int __wrap_##name parameters;                    \
    int __wrap_##name parameters                     \
    {                                                \
        va_list rest;                                \
        long argument;                               \
                                                     \
        va_start(rest, count);                       \
        argument = va_arg(rest, long);               \
        va_end(rest);                                \
        if (fails(FAULTS_##name, error_of_##name))   \
            return -1;                               \
        return __real_##name(__VA_ARGS__, argument); \
    }

WRAP_VARIADIC(open, flags, (const char *path, int flags, ...), path, flags)
WRAP_VARIADIC(fcntl, what, (int fd, int what, ...), fd, what)

int __real_clone(int (*run)(void *), void *stack, int flags, void *user, ...);
int __wrap_clone(int (*run)(void *), void *stack, int flags, void *user, ...);
READS_BEYOND int __wrap_clone(int (*run)(void *), void *stack, int flags, void *user, ...)
{
    va_list rest;
    int *pidfd;

    va_start(rest, user);
    pidfd = va_arg(rest, int *);
    va_end(rest);
    return fails(FAULTS_clone, error_of_clone) ? -1 : __real_clone(run, stack, flags, user, pidfd);
}

/* Excludes a futex, whose failed wait is only repeated, and calls of a child on its way to exec. */
static bool may_fail(long number)
{
    return number != SYS_futex && number != SYS_exit_group && number != SYS_close &&
           number != SYS_rt_sigaction && number != SYS_rt_sigprocmask && number != SYS_setpgid &&
           number != SYS_openat && number != SYS_ioctl && number != SYS_prctl &&
           number != SYS_pidfd_send_signal;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
READS_BEYOND long __wrap_syscall(long number, ...)
{
    long arguments[6];
    va_list rest;

    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(rest, long);
    va_end(rest);
    if (may_fail(number) && fails(FAULTS_syscall, error_of_syscall))
        return -1;
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}

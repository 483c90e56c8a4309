/* SPDX-License-Identifier: Apache-2.0 */
/* faults: an allocation or a system call that fails once.
 *
 * In a test program that links test_faults, these functions are wrapped in its rooms (-Wl,--wrap).
 * faults_arm chooses a function and the number of a call, on any thread, which then fails as the
 * system may make it fail. Calls that the C library makes itself are not wrapped.
 */
#ifndef TESTS_SUPPORT_FAULTS_H
#define TESTS_SUPPORT_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* name, the error it fails with */
#define FAULTS_EACH(X)            \
    X(malloc, ENOMEM)             \
    X(calloc, ENOMEM)             \
    X(realloc, ENOMEM)            \
    X(aligned_alloc, ENOMEM)      \
    X(strdup, ENOMEM)             \
    X(open, EMFILE)               \
    X(opendir, EMFILE)            \
    X(memfd_create, EMFILE)       \
    X(ftruncate, EFBIG)           \
    X(fallocate, ENOSPC)          \
    X(mmap, ENOMEM)               \
    X(madvise, ENOMEM)            \
    X(fcntl, ENOLCK)              \
    X(fstat, EOVERFLOW)           \
    X(socketpair, EMFILE)         \
    X(pipe2, EMFILE)              \
    X(eventfd, EMFILE)            \
    X(epoll_create1, EMFILE)      \
    X(epoll_ctl, ENOMEM)          \
    X(epoll_wait, EINTR)          \
    X(poll, EINTR)                \
    X(ppoll, ENOMEM)              \
    X(timerfd_create, EMFILE)     \
    X(timerfd_settime, EINVAL)    \
    X(read, EINTR)                \
    X(pread, EIO)                 \
    X(write, EINTR)               \
    X(send, ENOBUFS)              \
    X(recvmsg, ENOMEM)            \
    X(sendmsg, ENOMEM)            \
    X(readlink, ENAMETOOLONG)     \
    X(getrandom, EINTR)           \
    X(clone, EAGAIN)              \
    X(waitid, EINTR)              \
    X(pthread_create, EAGAIN)     \
    X(pthread_key_create, EAGAIN) \
    X(syscall, ENOSYS)

#define FAULTS_NAME(name, error) FAULTS_##name,
enum faults_function { FAULTS_EACH(FAULTS_NAME) FAULTS_COUNT };
#undef FAULTS_NAME

const char *faults_names_of(enum faults_function function);

/* From now on call number `number` (from 1 on) of the function fails, once. */
void faults_arm(enum faults_function function, uint64_t number);

/* Makes this file at the moment of the failure. Call it before faults_arm. */
void faults_leave(const char *path);

/* Ends the fault. Says whether a call failed. */
bool faults_disarm(void);

/* Says whether the call has failed already. */
bool faults_fired(void);

/* Returns the blocks of memory that were allocated through the wrappers, less those that were
 * freed. */
int64_t faults_blocks(void);

#endif

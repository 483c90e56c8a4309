/* SPDX-License-Identifier: Apache-2.0 */
/* faults: an allocation, or a call of the system, that fails once.
 *
 * A test program that links test_faults has these functions of its rooms wrapped (-Wl,--wrap);
 * faults_arm chooses one of them and the how-many-th call of it, on any thread, which then fails as
 * the system may make it fail. What the C library calls by itself is not wrapped. */
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

/* From now on the `number`-th call (from 1 on) of it fails, once. */
void faults_arm(enum faults_function function, uint64_t number);

/* Makes this file at the moment something fails; before faults_arm. */
void faults_leave(const char *path);

/* Nothing fails any more. Did something? */
bool faults_disarm(void);

/* Has it failed already? */
bool faults_fired(void);

/* Blocks of memory that were allocated through the wrappers, less those that were freed. */
int64_t faults_blocks(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_trace: follows all threads of another process from system call to system call, and at one
 * of them kills the process, or has the call fail.
 *
 * The process may be any descendant that runs already, or one that begins; its children are not
 * followed. One trace at a time, and from one thread. Each trace has a deadline, after which the
 * process is left alone again.
 */
#ifndef TESTS_FAULT_SYSCALL_TRACE_H
#define TESTS_FAULT_SYSCALL_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SYSCALL_TRACE_KINDS   512
#define SYSCALL_TRACE_THREADS 64

/* A system call that a thread begins. */
struct syscall_trace_call {
    pid_t process, thread;
    long number;
    uint64_t arguments[6];
};

/* A child of the caller whose end the trace may meet. */
struct syscall_trace_child {
    pid_t pid; /* 0: none */
    bool ended;
    int status; /* as waitpid tells it */
};

struct syscall_trace_thread {
    pid_t id;
    long number; /* of the system call that it is in; -1: none */
    bool fails;  /* that call does */
};

struct syscall_trace {
    /* What is to be done; the rest is zeroed before a trace. */
    uint64_t at; /* at this stop, from 1 on; 0: never */
    int error; /* 0: SIGKILL before or after a call; else the call fails with it, and is not done */
    uint64_t span_ns; /* with an error: all that come within this time after it fail, too */
    bool (*counts)(void *user, const struct syscall_trace_call *call); /* NULL: each call does */
    void *user;
    struct syscall_trace_child *children[2]; /* the trace ends with the first one's end */

    uint64_t until_ns;
    pid_t target, parent;               /* parent: its first child becomes the target */
    uint64_t stops;                     /* so far: before and after each call; of failures, calls */
    bool reached, dead;                 /* the stop `at` came; the target has ended */
    long last;                          /* the call at which that was */
    uint64_t seen[SYSCALL_TRACE_KINDS]; /* stops at each call, by its number */
    struct syscall_trace_thread threads[SYSCALL_TRACE_THREADS];
};

/* Begins to follow a process with all its threads. Returns 0, or -1 where there is none, or where
 * processes cannot be traced. */
int syscall_trace_attach(struct syscall_trace *trace, pid_t target);

/* Begins to follow a child of the caller that waits to be let go by syscall_trace_release; or, with
 * `child`, the first child that it makes. */
int syscall_trace_attach_new(struct syscall_trace *trace, pid_t process, bool child);

/* Begins a program, which waits; `fd` is for syscall_trace_release. Its output goes to `output`. */
pid_t syscall_trace_spawn(char *const words[], const char *output, int *fd);
void syscall_trace_release(int fd);

/* Goes on until the target is dead, or the first of the children has ended and the target makes no
 * calls any more, or is found to make some for ever. False: not even that within 30 s. The target
 * runs freely after it. */
bool syscall_trace_run(struct syscall_trace *trace);

/* Waits for the end of a child, 30 s at most. */
bool syscall_trace_await(struct syscall_trace_child *child);

#endif

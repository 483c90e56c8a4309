/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_sweep: SIGKILL before and after each system call of all threads of a process, in turn. */
#ifndef TESTS_FAULT_SYSCALL_SWEEP_H
#define TESTS_FAULT_SYSCALL_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSCALL_SWEEP_KINDS 512

struct syscall_sweep {
    const char *name;
    void (*setup)(void *user);   /* before each point */
    void (*operate)(void *user); /* in a process of its own */
    /* After its death, or its end: what is wrong, or NULL. */
    const char *(*check)(void *user, bool finished);
    void *user;
    uint64_t stride; /* 1: each point; 0: as syscall_sweep_read_options has it */
};

struct syscall_sweep_result {
    uint64_t points, failures, first_failure, calls; /* calls: of the run that finished */
    uint64_t kinds[SYSCALL_SWEEP_KINDS];             /* points at each system call, by its number */
    const char *text;                                /* of the first failure */
};

/* --every: each point, else every seventh. */
void syscall_sweep_read_options(int argc, char **argv);

/* Memory that the process shares with this one, all zero. */
void *syscall_sweep_share(size_t size);

/* Runs it; the test fails if a point does, or if there are no more than `least`. Logs nothing. */
void syscall_sweep_whole(const struct syscall_sweep *sweep, uint64_t least);

/* Returns 0, or -1 if processes cannot be traced here or one did not end. Prints a line. */
int syscall_sweep_run(const struct syscall_sweep *sweep, struct syscall_sweep_result *result);

#endif

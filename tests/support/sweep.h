/* SPDX-License-Identifier: Apache-2.0 */
/* sweep: runs an operation on shared memory in a process that is killed, or stopped, once after
 * each single machine instruction; then recovers and verifies.
 *
 * For k = 1, 2, 3, ...: setup makes fresh shared state; a child runs the operation and is killed
 * after its k-th instruction; after proof of its death check recovers and verifies; teardown. The
 * sweep ends with the first child that finishes the operation before its k-th instruction, for
 * which check is called too. Only the calling thread exists in the child.
 *
 * The child runs freely over most of the path of earlier children, and steps the rest (stepping.h):
 * 2,000 instructions take some 3 s. If an operation takes another path than before, and with
 * `steps_only`, all of it is stepped: N instructions cost N * N / 2 traps, and 2,000 take 40 s. In
 * a program linked with -z now no instruction is spent on symbol lookup. Memory under MADV_DONTFORK
 * is not in the child: undo it in setup.
 */
#ifndef TESTS_SUPPORT_SWEEP_H
#define TESTS_SUPPORT_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#define SWEEP_TEXT_SIZE 512

enum sweep_mode {
    SWEEP_KILL, /* SIGKILL after instruction k, check */
    SWEEP_STOP, /* SIGSTOP after instruction k, check, SIGCONT, the operation ends, check again */
    SWEEP_STOP_KILL /* SIGSTOP after instruction k, check, SIGKILL, check again */
};

/* The arguments of a check. */
struct sweep_point {
    uint64_t step; /* k */
    bool finished; /* the operation came to its end */
    bool stopped;  /* the child is alive and stopped; it will continue, or be killed */
    char text[SWEEP_TEXT_SIZE];
};

struct sweep {
    int (*setup)(void *user);                            /* in the parent; 0, or it failed */
    void (*operation)(void *user);                       /* in the child */
    int (*check)(void *user, struct sweep_point *point); /* in the parent; 0, or sweep_fail */
    void (*teardown)(void *user);                        /* in the parent; NULL: nothing to do */
    void *user;
    enum sweep_mode mode;
    uint64_t start;      /* first k; 0 means 1 */
    uint64_t stride;     /* from one k to the next; 0 means 1 */
    uint64_t points_max; /* 0: no limit */
    uint64_t time_ns;    /* no new point after this time; 0: no limit */
    bool from_outside;   /* by ptrace; always so on CPUs without a trap flag */
    bool steps_only;     /* each child steps all the way */
};

struct sweep_result {
    uint64_t points;        /* children that died, or stopped, inside the operation */
    uint64_t steps;         /* steps of the whole operation; 0 if `complete` is false */
    uint64_t failures;      /* checks that failed */
    uint64_t first_failure; /* its step */
    uint64_t last;          /* the last step tried */
    uint64_t astray;        /* children that took another path, so that the point was repeated */
    bool complete;          /* the end was reached: neither points_max nor time_ns cut it short */
    char text[SWEEP_TEXT_SIZE]; /* text of the first failure, or why the sweep was not possible */
};

/* Returns 0 if the sweep was done, whatever it found, or -errno with result->text if it was not
 * possible: setup failed (-EINVAL), the child crashed by itself (-ECHILD) or hung (-ETIMEDOUT), or
 * nothing can be stepped here (-ENOTSUP), as under valgrind. */
int sweep_run(const struct sweep *sweep, struct sweep_result *result);

/* For check: sets the text of the failure and returns -1. */
int sweep_fail(struct sweep_point *point, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

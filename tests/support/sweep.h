/* SPDX-License-Identifier: Apache-2.0 */
/* sweep: one operation on shared memory, and a process that dies, or stands still, in the middle of
 * it, once after each single machine instruction; then recovery, and a look at what must hold.
 *
 * For k = 1, 2, 3, ...: setup makes fresh shared state; a child runs the operation and is killed
 * after its k-th instruction; after proof of its death check recovers and verifies; teardown. The
 * sweep ends with the first child that finishes the operation before its k-th instruction, for
 * which check is called too. Only the calling thread exists in the child.
 *
 * The child runs freely over most of what earlier children did, and steps the rest (stepping.h):
 * 2,000 instructions take some 3 s. Where an operation takes another way than before, and with
 * `steps_only`, all is stepped: N instructions cost N * N / 2 traps, and 2,000 take 40 s. In a
 * program linked with -z now no instruction is spent on looking up symbols. Memory under
 * MADV_DONTFORK is not in the child: undo it in setup.
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

/* What check is told. */
struct sweep_point {
    uint64_t step; /* k */
    bool finished; /* the operation came to its end */
    bool stopped;  /* the child lives and stands still; it will go on, or be killed */
    char text[SWEEP_TEXT_SIZE];
};

struct sweep {
    int (*setup)(void *user);                            /* in the parent; 0, or it failed */
    void (*operation)(void *user);                       /* in the child */
    int (*check)(void *user, struct sweep_point *point); /* in the parent; 0, or sweep_fail */
    void (*teardown)(void *user);                        /* in the parent; NULL: nothing to do */
    void *user;
    enum sweep_mode mode;
    uint64_t start;      /* first k; 0 is 1 */
    uint64_t stride;     /* from k to the next; 0 is 1 */
    uint64_t points_max; /* 0: no limit */
    uint64_t time_ns;    /* no new point after this time; 0: no limit */
    bool from_outside;   /* by ptrace; always so where the CPU has no trap flag */
    bool steps_only;     /* each child steps all the way */
};

struct sweep_result {
    uint64_t points;        /* children that died, or stopped, inside the operation */
    uint64_t steps;         /* of the whole operation; 0 if `complete` is false */
    uint64_t failures;      /* checks that failed */
    uint64_t first_failure; /* its step */
    uint64_t last;          /* the last step tried */
    uint64_t astray;        /* children that took another way, so that the point was done again */
    bool complete;          /* the end was reached: neither points_max nor time_ns cut it short */
    char text[SWEEP_TEXT_SIZE]; /* of the first failure, or why the sweep could not be done */
};

/* 0 if the sweep was done, whatever was found; -errno with result->text if it could not be:
 * setup failed (-EINVAL), the child crashed by itself (-ECHILD) or hung (-ETIMEDOUT), or nothing
 * can be stepped here (-ENOTSUP; valgrind is such a place). */
int sweep_run(const struct sweep *sweep, struct sweep_result *result);

/* For check: the text of the failure; returns -1. */
int sweep_fail(struct sweep_point *point, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

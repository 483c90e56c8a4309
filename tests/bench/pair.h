/* SPDX-License-Identifier: Apache-2.0 */
/* pair: host and guest as two programs that know each other by a path only, so that one of them can
 * run under a tool. The host does so many operations and ends. */
#ifndef TESTS_BENCH_PAIR_H
#define TESTS_BENCH_PAIR_H

#include <stdbool.h>

#include "tests/support/process.h"

#define PAIR_PATH      128
#define PAIR_WITHIN_NS UINT64_C(120000000000)

/* A folder with what they need. */
struct pair {
    char folder[PAIR_PATH - 32];
    char segment[PAIR_PATH], output[PAIR_PATH]; /* output files of the tool */
    char note[PAIR_PATH];                       /* where the host says what lies where */
    char count[16];                             /* number of operations */
};

struct pair_run {
    const char *subject;
    const char *const *tool; /* words before the program; ends with NULL */
    bool of_host;            /* else the guest runs under it */
    bool notes;
    void *(*meanwhile)(void *user); /* in a thread of its own from the host's start on, or NULL */
    void *user;
};

/* 0, or -errno. pair_close in every case. */
int pair_open(struct pair *pair);
void pair_close(const struct pair *pair);

bool pair_has(const char *tool);

/* 0, SUITE_NOT_HERE, or less than 0, said on standard error. */
int pair_run(struct pair *pair, const struct pair_run *run);

/* Interprets the `result` of a `rapahub-bench`, as above. */
int pair_judge(const char *what, int r, const struct process_result *result);

#endif

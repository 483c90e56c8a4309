/* SPDX-License-Identifier: Apache-2.0 */
/* lines: how many cache lines of a segment an operation touches, from what lackey prints: each load
 * and store of the host. */
#ifndef TESTS_BENCH_LINES_H
#define TESTS_BENCH_LINES_H

#include <stdint.h>

#define LINES_MAX 4096

struct lines {
    const char *trace, *note; /* paths: a fifo, and where the host says what lies where */
    /* bounds of the segment; and the word stored between two operations */
    uint64_t low, high, mark;
    uint64_t touched[LINES_MAX];
    uint32_t count;           /* lines touched in this operation */
    uint64_t all, operations; /* in all of them */
    uint32_t marks;
    int failure;
};

/* Reads until the host ends; a thread's function, `user` is a struct lines. */
void *lines_read(void *user);

#endif

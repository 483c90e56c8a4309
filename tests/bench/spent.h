/* SPDX-License-Identifier: Apache-2.0 */
/* spent: what a process has used so far, as /proc has it. */
#ifndef TESTS_BENCH_SPENT_H
#define TESTS_BENCH_SPENT_H

#include <sys/types.h>

struct spent {
    double cpu_ns, wakes; /* of all its threads */
};

struct spent spent_by(pid_t pid);

/* A figure of smaps_rollup, such as "Rss"; pid 0: this process. */
double spent_kilobytes(pid_t pid, const char *figure);

#endif

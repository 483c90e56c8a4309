/* SPDX-License-Identifier: Apache-2.0 */
/* once: one trial of one subject, here or in another build of this program; as a line of JSON. */
#ifndef TESTS_BENCH_ONCE_H
#define TESTS_BENCH_ONCE_H

#include <stdio.h>

#include "tests/bench/suite.h"

/* Fills in the result of the subject's `run` and trial->load. */
int once_run(const struct suite_subject *subject, const struct suite_options *options,
             struct trial *out);

/* The same by another build of this program. */
int once_elsewhere(const char *program, const struct suite_subject *subject,
                   const struct suite_options *options, struct trial *out);

/* Reads the trial that another program printed as JSON. */
void once_read(const char *line, struct trial *out);

/* Where a trial stands: in which round, and in which row, if it is the subject of one. */
struct once_where {
    uint32_t round;
    uint64_t seed;
    const char *row, *base; /* NULL: none */
    double ratio;           /* to the base, in this round; 0: none */
};

/* A line of the schema rapahub.suite/1. */
void once_print(FILE *file, const struct suite_subject *subject, const struct trial *trial,
                const struct once_where *where);

#endif

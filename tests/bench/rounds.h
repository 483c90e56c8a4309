/* SPDX-License-Identifier: Apache-2.0 */
/* rounds: each subject once in a round, in an order that a seed shuffles; a row is the median of
 * the ratios of what was measured in the same round. Gates are judged by the best of three. */
#ifndef TESTS_BENCH_ROUNDS_H
#define TESTS_BENCH_ROUNDS_H

#include <stdio.h>

#include "tests/bench/gates.h"
#include "tests/bench/suite.h"

#define ROUNDS_MAX  101
#define ROUNDS_ROWS 192

enum rounds_verdict {
    ROUNDS_SHOWN, /* no gate */
    ROUNDS_OK,
    ROUNDS_GOAL,
    ROUNDS_FAIL,
    ROUNDS_NOISY,    /* the base wavers too much to say anything */
    ROUNDS_NOT_HERE, /* why */
};

struct rounds_result {
    const struct gates_row *row;
    enum rounds_verdict verdict;
    double value, base;       /* medians */
    double ratio, low, high;  /* the value itself where there is no base */
    double load;              /* load of the machine, at its worst */
    uint32_t rounds;          /* paired */
    uint32_t tries;           /* measurements it took */
    char why[TRIAL_WHY_SIZE]; /* NOT_HERE; FAIL where it could not run */
};

struct rounds_options {
    struct suite_options suite;
    uint32_t rounds;
    double seconds;  /* more rounds until then; 0: none */
    double load_max; /* a broken gate is noise while the machine has more to do, or where the gate
                      * lies among the ratios of the rounds; 0: never */
    uint64_t seed;
    bool (*wanted)(const struct gates_row *row, const void *user);
    const void *user;
    FILE *json;        /* a line for each trial; or NULL */
    const char *other; /* another build of this program to compare with; or NULL */
};

/* How many results; less than 0 where nothing could be measured. With `other` a result's value is
 * this build's, its base the other one's. */
int rounds_run(const struct rounds_options *options, struct rounds_result out[ROUNDS_ROWS]);

#endif

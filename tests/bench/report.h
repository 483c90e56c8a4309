/* SPDX-License-Identifier: Apache-2.0 */
/* report: the table of rows, and how many are red. */
#ifndef TESTS_BENCH_REPORT_H
#define TESTS_BENCH_REPORT_H

#include <stdbool.h>

#include "tests/bench/rounds.h"

/* Prints the table; coloured on a terminal. How many rows broke their gate. */
int report_table(FILE *file, const struct rounds_result *results, int count);

/* Two builds: this one's value, the other one's, and the ratio. */
void report_compared(FILE *file, const struct rounds_result *results, int count);

#endif

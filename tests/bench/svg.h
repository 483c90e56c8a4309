/* SPDX-License-Identifier: Apache-2.0 */
/* svg: the rows as bars, how far each is from its gate. */
#ifndef TESTS_BENCH_SVG_H
#define TESTS_BENCH_SVG_H

#include <stdio.h>

#include "tests/bench/rounds.h"

void svg_print(FILE *file, const struct rounds_result *results, int count);

#endif

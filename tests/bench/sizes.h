/* SPDX-License-Identifier: Apache-2.0 */
/* sizes: a drawing of the round trip against the payload: copied, lent, through a socket; and other
 * libraries where they were measured. */
#ifndef TESTS_BENCH_SIZES_H
#define TESTS_BENCH_SIZES_H

#include <stdio.h>

#include "tests/bench/rounds.h"

void sizes_print(FILE *file, const struct rounds_result *results, int count);

#endif

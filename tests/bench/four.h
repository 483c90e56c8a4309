/* SPDX-License-Identifier: Apache-2.0 */
/* four: a record of 32 bytes, for a method that is called through libffi. */
#ifndef TESTS_BENCH_FOUR_H
#define TESTS_BENCH_FOUR_H

#include <stdint.h>

#include <rapahub/value.h>

/* Its bytes and what precedes them go inline. */
struct bench_four {
    int64_t a, b;
    double c, d;
};
RAPAHUB_RECORD(bench_four, RAPAHUB_MEMBER(bench_four, a, i64), RAPAHUB_MEMBER(bench_four, b, i64),
               RAPAHUB_MEMBER(bench_four, c, f64), RAPAHUB_MEMBER(bench_four, d, f64));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gates: for each row, the quotient that is formed, and the numbers to reach. A gate must not be
 * broken; a goal is what a release claims. */
#ifndef TESTS_BENCH_GATES_H
#define TESTS_BENCH_GATES_H

#include <stdbool.h>

#include "tests/bench/trial.h"

enum gates_field { GATES_BATCH, GATES_P50, GATES_P99, GATES_VALUE, GATES_SECOND };

struct gates_row {
    const char *id, *group, *what;
    const char *subject, *base; /* base NULL: the value itself is looked at */
    enum gates_field field, base_field;
    double gate, goal; /* 0 with `no_gate` false is a number like another */
    bool more;         /* more is better */
    bool no_gate;      /* published only */
    const char *unit;  /* unit of the value */
    double tolerance;  /* beyond the gate: of counts, which a descheduled peer changes */
    bool close;        /* only rounds count in which the two CPUs share a cache: GATES_LINE */
    const char *reach; /* and this subject, to the same base, reaches the gate; NULL: any */
};

/* Ends with an empty one. */
extern const struct gates_row gates_rows[];

/* There and back of a line, and within how many ns CPUs take it that share a cache. */
#define GATES_LINE    "L1"
#define GATES_LINE_NS 150.0

/* In the unit of the row: ns, or what the trial's value is. */
double gates_value(const struct trial *trial, enum gates_field field);

/* Prints the gates as Markdown, for docs/performance.md. */
void gates_print(void);

#endif

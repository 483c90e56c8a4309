/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/gates.h"

#include <stdio.h>
#include <string.h>

/* id, group, what, subject, its field, base, its field, gate, goal, is more better, unit */
#define GATES(LESS, MORE, SHOW)                                                                    \
    LESS(C1, calls, "typed call, polling", "add", BATCH, "L2", BATCH, 2.5, 1.6, "ns")              \
    LESS(C2, calls, "raw call, polling", "raw", BATCH, "L2", BATCH, 2.0, 1.5, "ns")                \
    LESS(C3, calls, "p99 of C2 to its p50", "raw", P99, "raw", P50, 3, 1.8, "ns")                  \
    LESS(C4, calls, "blocking call, cross", "add-sleep", P50, "futex-cross", P50, 1.3, 1.1, "ns")  \
    LESS(C5, calls, "blocking call, same CPU", "add-sleep-same", P50, "futex-same", P50, 1.4,      \
         1.15, "ns")                                                                               \
    LESS(C6, calls, "default mode, cross", "add-adapt", P50, "futex-cross", P50, 0.15, 0.08, "ns") \
    LESS(C7, calls, "default mode, same CPU", "add-adapt-same", P50, "futex-same", P50, 1.2, 0.8,  \
         "ns")                                                                                     \
    LESS(C8, calls, "default mode, free", "add-adapt-free", P50, "futex-free", P50, 1.2, 0.8,      \
         "ns")                                                                                     \
    LESS(C9, calls, "doorbell call, cross", "add-bell", P50, "doorbell", P50, 1.2, 1.1, "ns")      \
    LESS(C11, calls, "nested call to C1", "nested", BATCH, "add", BATCH, 2.8, 2.3, "ns")           \
    LESS(B3, bytes, "loan of 64 KiB", "loan-64k", BATCH, "L2", BATCH, 3.5, 2.8, "ns")              \
    LESS(B4, bytes, "loan of 1 MiB to 256 B", "loan-1m", BATCH, "loan-256", BATCH, 1.3, 1.15,      \
         "ns")                                                                                     \
    LESS(B8, bytes, "copied call of 64 KiB to uds", "raw-64k", BATCH, "uds-64k", BATCH, 0.9, 0.7,  \
         "ns")                                                                                     \
    LESS(B9, bytes, "call with 33 bytes to C2", "raw-33", BATCH, "raw", BATCH, 2.5, 2.0, "ns")     \
    LESS(B10, bytes, "copied call of 1 MiB to 64 KiB", "raw-1m", BATCH, "raw-64k", BATCH, 24, 20,  \
         "ns")                                                                                     \
    SHOW(P1, bytes, "copied call, 256 B", "raw-256", BATCH, "L2", BATCH, "ns")                     \
    SHOW(P2, bytes, "copied call, 4 KiB", "raw-4k", BATCH, "L2", BATCH, "ns")                      \
    SHOW(P3, bytes, "loan, 4 KiB", "loan-4k", BATCH, "L2", BATCH, "ns")                            \
    SHOW(P4, calls, "C2 to a standard guest", "raw-std", BATCH, "L2", BATCH, "ns")                 \
    SHOW(P5, calls, "C4 to a standard guest", "add-sleep-std", P50, "futex-cross", P50, "ns")      \
    SHOW(P6, limit, "L1 to L2", "L1", BATCH, "L2", BATCH, "ns")                                    \
    SHOW(P7, limit, "memcpy of 64 KiB", "memcpy-64k", VALUE, NULL, VALUE, "GB/s")                  \
    SHOW(P8, limit, "memcpy of 1 MiB", "memcpy-1m", VALUE, NULL, VALUE, "GB/s")

#define LESS(id, group, what, subject, field, base, of, gate, goal, unit) \
    {#id,  #group, what,  subject, base, GATES_##field, GATES_##of, gate, \
     goal, false,  false, unit,    0},
#define MORE(id, group, what, subject, field, base, of, gate, goal, unit) \
    {#id, #group, what, subject, base, GATES_##field, GATES_##of, gate, goal, true, false, unit, 0},
#define SHOW(id, group, what, subject, field, base, of, unit) \
    {#id, #group, what, subject, base, GATES_##field, GATES_##of, 0, 0, false, true, unit, 0},

const struct gates_row gates_rows[] = {GATES(LESS, MORE, SHOW){0}};

double gates_value(const struct trial *trial, enum gates_field field)
{
    switch (field) {
    case GATES_BATCH:
        return trial->batch_ns;
    case GATES_P50:
        return trial->p50_ns;
    case GATES_P99:
        return trial->p99_ns;
    default:
        return trial->value;
    }
}

void gates_print(void)
{
    printf("| id | what | divided by | gate | goal |\n| --- | --- | --- | --- | --- |\n");
    for (const struct gates_row *row = gates_rows; row->id; row++) {
        printf("| %s | %s | %s | ", row->id, row->what, row->base ? row->base : row->unit);
        if (row->no_gate)
            printf("– | – |\n");
        else
            printf("%s%g | %s%g |\n", row->more ? "≥ " : "", row->gate, row->more ? "≥ " : "",
                   row->goal);
    }
}

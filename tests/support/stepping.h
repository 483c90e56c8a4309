/* SPDX-License-Identifier: Apache-2.0 */
/* stepping: a process counts its own machine instructions and stops itself after a chosen one.
 *
 * Only on CPUs with a trap flag that a program may set (x86-64). Measured in a virtual machine: 12
 * us of CPU an instruction, where ptrace takes 23 and a switch of processes. For one thread of a
 * process that ends soon: the handler of SIGTRAP is never restored. A system call and the
 * instruction after it are one step.
 *
 * A caller that steps the same operation repeatedly, further each time, may let it run freely over
 * the known part. Each run records the place of every step, and the next one sets a breakpoint, in
 * its own copy of the code, at a place near the wanted step that was not reached often before: so
 * loops cost two traps an iteration. From the right iteration on it steps. Each known step is
 * compared; a run that takes another path reports it and ends.
 */
#ifndef TESTS_SUPPORT_STEPPING_H
#define TESTS_SUPPORT_STEPPING_H

#include <stdbool.h>
#include <stdint.h>

#define STEPPING_TRACE_MAX 32768 /* steps after these are never run freely */

struct stepping {
    volatile uint64_t done; /* instructions so far; read by others, any time */
    uint64_t until;         /* after this one, from 1 on ... */
    int signal;           /* ... the process sends itself this signal, and is stepped no further */
    volatile bool astray; /* it took another path than the run before; step all of it */

    uint64_t known;       /* steps in `trace` that hold for this run */
    uint64_t searched;    /* steps of these that stepping_prepare has searched */
    uint64_t anchor;      /* step that is run to freely, with a breakpoint */
    uintptr_t breakpoint; /* its place, until it is reached; 0: none */
    uint32_t to_pass;     /* how often it is reached before that */
    volatile bool passes; /* the next trap is the step that passes it */
    uint8_t covered;      /* the byte of code that it replaced */
    uintptr_t trace[STEPPING_TRACE_MAX];
    uint32_t before[STEPPING_TRACE_MAX]; /* how often the place of each searched step came before */
};

bool stepping_possible(void);

/* Call it before the fork of each run, for one operation from the same state. `stepping` must be in
 * memory shared with the child, zero before the first run. `freely`: the run may go freely over the
 * known part. */
void stepping_prepare(struct stepping *stepping, uint64_t until, bool freely);

/* Between the two, `stepping` counts. */
void stepping_begin(struct stepping *stepping);
void stepping_end(void);

#endif

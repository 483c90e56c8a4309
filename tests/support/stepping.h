/* SPDX-License-Identifier: Apache-2.0 */
/* stepping: a process counts its own machine instructions and stops itself after the wanted one.
 *
 * Only where the CPU has a trap flag a program may set (x86-64). Measured in a virtual machine: 12
 * us of CPU an instruction, where ptrace takes 23 and a change of process. For one thread of a
 * process that ends soon: the handler of SIGTRAP is never put back. A system call and the
 * instruction behind it are one step.
 *
 * Who steps the same operation again and again, further each time, may let it run freely over what
 * is known of it: each run writes down where every step stood, and the next one sets a breakpoint,
 * in its own copy of the code, on a place near the wanted step that was not reached often before:
 * so loops cost two traps a turn. From the turn it needs on it steps. Each step that is known is
 * compared; a run that takes another way says so and ends.
 */
#ifndef TESTS_SUPPORT_STEPPING_H
#define TESTS_SUPPORT_STEPPING_H

#include <stdbool.h>
#include <stdint.h>

#define STEPPING_TRACE_MAX 32768 /* steps behind these are never run over */

struct stepping {
    volatile uint64_t done; /* instructions so far; read by others, any time */
    uint64_t until;         /* after this one, from 1 on ... */
    int signal;           /* ... the process sends itself this signal, and is stepped no further */
    volatile bool astray; /* it took another way than the run before; step the whole of it */

    uint64_t known;       /* steps in `trace` that hold for this run */
    uint64_t searched;    /* of these, by stepping_prepare */
    uint64_t anchor;      /* step that is run to freely, with a breakpoint */
    uintptr_t breakpoint; /* its place, until it is reached; 0: none */
    uint32_t to_pass;     /* so often it is reached before */
    volatile bool passes; /* the next trap is the step that passes it */
    uint8_t covered;      /* the byte of code that stood there */
    uintptr_t trace[STEPPING_TRACE_MAX];
    uint32_t before[STEPPING_TRACE_MAX]; /* how often the place of each searched step came before */
};

bool stepping_possible(void);

/* Before the fork of each run, of one operation from the same state: `stepping` must lie in memory
 * shared with the child, zero before the first. `freely`: may run over what is known. */
void stepping_prepare(struct stepping *stepping, uint64_t until, bool freely);

/* Between the two, `stepping` counts. */
void stepping_begin(struct stepping *stepping);
void stepping_end(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* node_sweep: one operation of a node, cut short at one system call of one of its processes; then
 * the next daemon serves, and the operation was done or was not; then it is done again. */
#ifndef TESTS_FAULT_NODE_SWEEP_H
#define TESTS_FAULT_NODE_SWEEP_H

#include "tests/fault/node_operations.h"
#include "tests/fault/node_stage.h"
#include "tests/fault/syscall_trace.h"

enum node_sweep_process {
    NODE_SWEEP_DAEMON,
    NODE_SWEEP_WARDEN,
    NODE_SWEEP_COMMAND,
    NODE_SWEEP_PROCESSES
};

/* What the program was asked for: --every, --only TEXT; the seed is RAPAHUB_TEST_SEED, or that of
 * the moment, and is printed. */
struct node_sweep_options {
    bool every;       /* all points, not some of them */
    const char *only; /* operations whose names begin so */
    unsigned seed;
};

void node_sweep_read_options(int argc, char **argv);
bool node_sweep_is_wanted(const struct node_operation *operation);

/* What all points of a program share, and the begin and the end of its group of tests. */
extern struct node_sweep_options node_sweep_options;
extern struct node_stage node_sweep_stage;

int node_sweep_begin(void **state);
int node_sweep_end(void **state);

extern const char *const node_sweep_processes[NODE_SWEEP_PROCESSES];

/* Whether a process takes part in an operation. */
bool node_sweep_has(const struct node_operation *operation, enum node_sweep_process process);

/* Runs one point: `trace` says where, and gets what was seen. Returns NULL, or what is wrong; the
 * text is good until the next one. */
const char *node_sweep_run(struct node_stage *stage, const struct node_operation *operation,
                           enum node_sweep_process process, struct syscall_trace *trace);

/* A machine that loses power. */
struct node_sweep_power {
    void (*begins)(void *user); /* the data folder is as it was kept, and no process runs */
    void (*fails)(void *user);  /* all processes of the node are dead */
    void *user;
};

/* The same for an operation that begins with its node. The trace kills the daemon, and `counts` its
 * warden just before. The command lives on. */
const char *node_sweep_run_power(struct node_stage *stage, const struct node_operation *operation,
                                 struct syscall_trace *trace, const struct node_sweep_power *power);

/* The name of a system call, or its number. The text is good until the next call. */
const char *node_sweep_call_name(long number);

#endif

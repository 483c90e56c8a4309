/* SPDX-License-Identifier: Apache-2.0 */
/* node_stage: a node whose processes are killed at chosen points: rapahubd with its warden, the
 * commands that people type, and a data folder that is put back as it was for each point.
 *
 * Functions that return a text return NULL where all is well; the text is good until the next call.
 */
#ifndef TESTS_FAULT_NODE_STAGE_H
#define TESTS_FAULT_NODE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/cluster/node_process.h"
#include "tests/fault/syscall_trace.h"

#define NODE_STAGE_WORDS    8
#define NODE_STAGE_DOCUMENT 8192

struct node_stage {
    struct node_process node; /* its folder is in memory */
    struct syscall_trace_child warden, command;
    const char *keep; /* --metastore-keep of the next warden; NULL: the default */
    char text[2048];  /* what a function returns */
};

void node_stage_open(struct node_stage *stage);
void node_stage_close(struct node_stage *stage);

/* A node that has ended leaves its data folder as number `number`, from 0 on, for later. */
void node_stage_keep(struct node_stage *stage, unsigned number);

/* Kills what runs, and puts the folder back; UINT32_MAX: it is not there. */
void node_stage_restore(struct node_stage *stage, unsigned number);

/* A path in the folder of the stage, beside that of the data. */
void node_stage_path(const struct node_stage *stage, const char *name, char to[NODE_PROCESS_PATH]);

/* Makes the process of the warden, or of a command, which waits for syscall_trace_release(*gate).
 * `words` of a command are without `rapahub` and without its node; NULL ends them. */
void node_stage_prepare(struct node_stage *stage, int *gate);
void node_stage_prepare_command(struct node_stage *stage, const char *const *words, int *gate);

/* Begins the warden, if none runs. */
void node_stage_begin(struct node_stage *stage);

/* Waits until no process of the stage is left but the command. */
bool node_stage_await_orphans(struct node_stage *stage);

/* Runs a command to its end. Returns its status. */
int node_stage_type(struct node_stage *stage, const char *const *words);

/* The end of what the commands have printed since the folder was put back. */
const char *node_stage_said(struct node_stage *stage);

/* Ends the node in order, and looks at what is left: no process, no socket, and a folder in which
 * all parts agree. */
const char *node_stage_end(struct node_stage *stage);

/* Waits until the node serves, all operations have ended and each pool is whole: its containers
 * serve, or are in quarantine. */
const char *node_stage_settle(struct node_stage *stage);

/* Asks rapahub.node. */
const char *node_stage_ask(struct node_stage *stage, const char *method,
                           const void *const *arguments, char to[NODE_STAGE_DOCUMENT]);
bool node_stage_has_pool(struct node_stage *stage, const char *name);

/* A call of a method that has a number, and gives one. */
struct node_stage_call {
    const char *pool, *method;
    uint32_t container;
    uint64_t number;
};

const char *node_stage_call(struct node_stage *stage, const struct node_stage_call *asked,
                            uint64_t *result);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* node_operations: what people and programs have a node do, one thing at a time: how it is begun,
 * and what must be so after it was cut short anywhere. */
#ifndef TESTS_FAULT_NODE_OPERATIONS_H
#define TESTS_FAULT_NODE_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/fault/node_stage.h"

/* Folders that the operations begin with. */
enum node_operations_folder {
    NODE_OPERATIONS_POOLS,       /* two pools that are durable by copies */
    NODE_OPERATIONS_MODULE,      /* and a module that no pool has */
    NODE_OPERATIONS_QUARANTINED, /* a pool whose container is in quarantine, and would begin */
    NODE_OPERATIONS_HISTORY,     /* a metastore with much that was overwritten */
    NODE_OPERATIONS_FOLDERS,
    NODE_OPERATIONS_NOTHING = -1
};

enum node_operations_way {
    NODE_OPERATIONS_TYPED,  /* a command, while the node serves */
    NODE_OPERATIONS_STARTS, /* the node begins, and then a command comes */
    NODE_OPERATIONS_STOPS   /* the warden is asked to end */
};

struct node_operation {
    const char *name;
    enum node_operations_folder folder;
    enum node_operations_way way;
    const char *words[NODE_STAGE_WORDS];
    const char *keep; /* how long the metastore keeps history; NULL: the default */
    /* After the node serves: what comes before it, and may be NULL. */
    const char *(*prepare)(struct node_stage *stage);
    /* At the moment in which the command begins: an event that it waits for; may be NULL. */
    void (*strike)(struct node_stage *stage);
    /* What is wrong with the node: it was done `times` times at least, and at most once more than
     * that where `maybe` says so. */
    const char *(*check)(struct node_stage *stage, unsigned times, bool maybe);
    /* A failure that says that it was done already by the process that died; or NULL. */
    const char *repeated;
    bool warden;      /* the warden takes part */
    bool daemon_dies; /* at the moment of `strike`, so it is not to be cut short */
};

extern const struct node_operation node_operations[];
extern const unsigned node_operations_count;

/* Makes the folders. */
void node_operations_begin(struct node_stage *stage);

#endif

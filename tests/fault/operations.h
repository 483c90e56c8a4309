/* SPDX-License-Identifier: Apache-2.0 */
/* operations: each operation on shared memory that is swept. */
#ifndef TESTS_FAULT_OPERATIONS_H
#define TESTS_FAULT_OPERATIONS_H

#include "tests/fault/stage.h"

enum operation {
    OPERATION_SEND,
    OPERATION_TAKE,
    OPERATION_ATTACH,
    OPERATION_RESERVE,
    OPERATION_PUSH,
    OPERATION_SERVE,
    OPERATION_FREE,
    OPERATION_OPEN,
    OPERATION_WRITE,
    OPERATION_GRANT,
    OPERATION_CLOSE,
    OPERATION_RESET,
    OPERATIONS_COUNT
};

extern const struct stage_operation operations_swept[OPERATION_OPEN];

/* The operations on channels. */
extern const struct stage_operation operations_on_channels[OPERATIONS_COUNT - OPERATION_OPEN];

/* Any of them. */
const struct stage_operation *operations_find(enum operation operation);

/* The host takes what arrived of "send a request", which is whole, and answers it. */
int operations_take_request(struct stage *stage, struct sweep_point *point);

#endif

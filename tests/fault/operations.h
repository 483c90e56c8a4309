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
    OPERATION_FREE,
    OPERATIONS_COUNT
};

extern const struct stage_operation operations_swept[OPERATIONS_COUNT];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* operations_on_classes: what a guest does with slots of several sizes. */
#ifndef TESTS_FAULT_OPERATIONS_ON_CLASSES_H
#define TESTS_FAULT_OPERATIONS_ON_CLASSES_H

#include "tests/fault/stage.h"

/* Number `i` from 0 on; false where there are no more. */
bool operations_on_classes_find(unsigned i, struct stage_operation *out);

#endif

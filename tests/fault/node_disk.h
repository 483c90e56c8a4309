/* SPDX-License-Identifier: Apache-2.0 */
/* node_disk: which system calls of a process change files in a folder, or make them durable. */
#ifndef TESTS_FAULT_NODE_DISK_H
#define TESTS_FAULT_NODE_DISK_H

#include <stdbool.h>

#include "tests/fault/syscall_trace.h"

/* For `counts` of a trace; `user`: the path of the folder. */
bool node_disk_is_change(void *user, const struct syscall_trace_call *call);

#endif

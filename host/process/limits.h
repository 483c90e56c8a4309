/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the resource limits of a guest's process, in the form that the kernel expects. */
#ifndef HOST_PROCESS_LIMITS_H
#define HOST_PROCESS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include <rapahub/limits.h>

#include "host/process/cgroup.h"

#define HOST_LIMITS_MAX 8

/* A limit of the kernel: its struct rlimit64 after the number of the resource. */
struct host_limit {
    int resource;
    const char *name;
    struct {
        uint64_t soft, hard;
    } value;
};

/* The limits that are set, `count` of them. */
struct host_limits {
    struct host_limit list[HOST_LIMITS_MAX];
    size_t count;
    struct host_cgroup_limits cgroup;
};

/* Converts the options. `given` may be NULL: no limits. -EINVAL if a limit is less than a guest
 * needs to start, or more than the host itself may have. */
int host_limits_take(const struct rapahub_limits *given, struct host_limits *out);

#endif

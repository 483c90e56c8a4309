/* SPDX-License-Identifier: Apache-2.0 */
/* limits: what of the machine the process of a guest may use, as the kernel wants it told. */
#ifndef HOST_PROCESS_LIMITS_H
#define HOST_PROCESS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include <rapahub/limits.h>

#include "host/process/cgroup.h"

#define HOST_LIMITS_MAX 8

/* One of the kernel's: its struct rlimit64 behind the number of the resource. */
struct host_limit {
    int resource;
    const char *name;
    struct {
        uint64_t soft, hard;
    } value;
};

/* Those that are set, `count` of them. */
struct host_limits {
    struct host_limit list[HOST_LIMITS_MAX];
    size_t count;
    struct host_cgroup_limits cgroup;
};

/* `given` may be NULL: none. -EINVAL where one is less than a guest needs to start, or more than
 * the host itself may have. */
int host_limits_take(const struct rapahub_limits *given, struct host_limits *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup: a folder of the kernel's for the processes of one life: what they may use together, and
 * how they are killed together. Of cgroup v2 only. */
#ifndef HOST_PROCESS_CGROUP_H
#define HOST_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* 0: no limit. */
struct host_cgroup_limits {
    uint64_t memory_max, memory_high; /* bytes */
    uint64_t pids_max;
    uint64_t cpu_percent; /* of one CPU */
    bool required;
};

struct host_cgroup {
    bool open;
    int folder;
    char name[48]; /* below that of the host */
};

/* The folder in which a host may make others: `path`, or with NULL the one this process is in. A
 * descriptor, or a failure that says what to do. */
int host_cgroup_find(const char *path);

/* A new one, empty. */
int host_cgroup_create(int above, struct host_cgroup *out);

/* All of them or none counts: on failure some may hold. */
int host_cgroup_limit(const struct host_cgroup *cgroup, const struct host_cgroup_limits *limits);

/* To be written to by a process that goes in; -errno. */
int host_cgroup_door(const struct host_cgroup *cgroup);

/* How often the kernel killed in it for want of memory. */
uint64_t host_cgroup_ooms(const struct host_cgroup *cgroup);

/* Is a process in it? */
bool host_cgroup_populated(const struct host_cgroup *cgroup);

/* SIGKILL to all in it. 0, or -errno. */
int host_cgroup_kill(const struct host_cgroup *cgroup);

/* Removes it, where nobody is in it any more; true: it is gone. */
bool host_cgroup_release(int above, struct host_cgroup *cgroup);

#endif

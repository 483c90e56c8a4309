/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup: a cgroup for the processes of one life: limits their resources together and kills them
 * together. Only cgroup v2. Owner thread. */
#ifndef HOST_PROCESS_CGROUP_H
#define HOST_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* 0: no limit. */
struct host_cgroup_limits {
    uint64_t memory_max, memory_high; /* bytes */
    uint64_t pids_max;
    uint64_t cpu_percent; /* share of one CPU */
    bool required;
};

struct host_cgroup {
    bool open;
    int folder;
    char name[48]; /* below the host's */
};

/* Opens the cgroup in which a host may make others: `path`, or with NULL the one of this process.
 * Returns a descriptor, or a failure that says what to do. */
int host_cgroup_find(const char *path);

/* Makes a new, empty cgroup. */
int host_cgroup_create(int above, struct host_cgroup *out);

/* Sets the limits. After a failure some of them may be in force. */
int host_cgroup_limit(const struct host_cgroup *cgroup, const struct host_cgroup_limits *limits);

/* Opens the file that a process writes to in order to enter; -errno. */
int host_cgroup_door(const struct host_cgroup *cgroup);

/* Returns how often the kernel killed a process in it for lack of memory. */
uint64_t host_cgroup_ooms(const struct host_cgroup *cgroup);

/* Says whether a process is in it. */
bool host_cgroup_populated(const struct host_cgroup *cgroup);

/* Sends SIGKILL to all processes in it. 0, or -errno. */
int host_cgroup_kill(const struct host_cgroup *cgroup);

/* Removes it if no process is in it any more. True: it is gone. */
bool host_cgroup_release(int above, struct host_cgroup *cgroup);

#endif

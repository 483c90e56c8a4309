/* SPDX-License-Identifier: Apache-2.0 */
/* life_process: the process of a life as the kernel knows it, and how it ended. */
#ifndef HOST_PROCESS_LIFE_PROCESS_H
#define HOST_PROCESS_LIFE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/owner/loop.h"
#include "host/process/cgroup.h"
#include "host/process/output.h"
#include "host/supervise/exits.h"
#include "hub/base/atomic.h"
#include "hub/base/proof.h"

struct host_life_process {
    int pidfd; /* -1: not started, or not known */
    pid_t pid; /* an admitted guest's is as the program said; 0: not known */
    struct host_watch on_death;
    int hangup; /* an admitted guest's: the other end is its process's; -1: none */
    struct host_watch on_hangup;
    struct host_output output;
    struct host_cgroup cgroup;
    bool purged; /* after its death all in its cgroup were killed */
};

/* Any thread reads it by host_life_ended; the owner writes all but `cause`. */
struct host_life_exit {
    struct hub_a32 cause;   /* enum host_cause, recorded before the signal */
    struct hub_a32 known;   /* 1: `how` and `usage` are valid, and constant */
    struct hub_exit how;    /* how the process ended */
    struct hub_usage usage; /* usage of the process */
    char why[256];          /* cause of death beyond the exit status; or "" */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: the only place that starts processes.
 *
 * One thread for each host makes every child, from the first one to the end of the host, because a
 * parent-death signal comes when the thread that made the child ends, and a vfork stops its caller.
 * A child gets the descriptors of its order and nothing else, and its pidfd exists from its birth.
 */
#ifndef HOST_PROCESS_SPAWN_H
#define HOST_PROCESS_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/process/limits.h"

#define HOST_SPAWN_DESCRIPTORS 25

/* The child to make. All of it belongs to the caller. */
struct host_spawn_order {
    const char *program;
    char *const *arguments;   /* ended by NULL */
    char *const *environment; /* ended by NULL */
    int count;                /* number of descriptors; at least 3 */
    /* the child's 0 to count - 1; -1: closed in the child */
    int descriptors[HOST_SPAWN_DESCRIPTORS];
    bool no_new_privs;
    const struct host_limits *limits;
    bool confined;
    int cgroup; /* if confined: the file to write to in order to enter */
};

struct host_spawned {
    pid_t pid;
    int pidfd;        /* CLOEXEC */
    const char *step; /* the step that failed, if there is no child; a constant */
};

struct host_spawner;

int host_spawn_open(struct host_spawner **out);

/* Ends the thread: every child that still lives gets its parent-death signal. NULL is allowed. */
void host_spawn_close(struct host_spawner **spawner);

/* Starts a program that is no guest, on the calling thread and at once: no input, the host's output
 * and errors, no other descriptor, no signal ignored or blocked, a session of its own. It does not
 * end with the host. -errno. */
int host_spawn_command(char *const *arguments, char *const *environment, struct host_spawned *out);

/* Makes a child. Owner thread. -errno with the failed step in the text and in *out; there is no
 * child then. */
int host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
               struct host_spawned *out);

#endif

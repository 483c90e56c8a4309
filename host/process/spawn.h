/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: the only place that starts processes.
 *
 * One thread for each host makes every child, from the first to the end of the host: a child's
 * parent-death signal comes when the thread that made it ends, and a vfork stops its caller. A
 * child gets the descriptors of its order and nothing else, and its pidfd exists from its birth. */
#ifndef HOST_PROCESS_SPAWN_H
#define HOST_PROCESS_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/process/limits.h"

#define HOST_SPAWN_DESCRIPTORS 25

/* What a child is to be. All of it is the caller's. */
struct host_spawn_order {
    const char *program;
    char *const *arguments;                  /* ended by NULL */
    char *const *environment;                /* ended by NULL */
    int count;                               /* of descriptors; at least 3 */
    int descriptors[HOST_SPAWN_DESCRIPTORS]; /* its 0 to count - 1; -1: closed in the child */
    bool no_new_privs;
    const struct host_limits *limits;
    bool confined;
    int cgroup; /* confined: what it is written to, to go in */
};

struct host_spawned {
    pid_t pid;
    int pidfd;        /* CLOEXEC */
    const char *step; /* where it failed, and there is no child; a constant */
};

struct host_spawner;

int host_spawn_open(struct host_spawner **out);

/* Ends the thread: every child that still lives gets its parent-death signal. Accepts NULL. */
void host_spawn_close(struct host_spawner **spawner);

/* A program that is no guest, at once, by the calling thread: no input, output and errors are the
 * host's, no other descriptor, no signal ignored or blocked, a session of its own. It does not end
 * with the host. -errno. */
int host_spawn_command(char *const *arguments, char *const *environment, struct host_spawned *out);

/* Owner thread. -errno with the step that failed in the text, and in *out; then there is no child.
 */
int host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
               struct host_spawned *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: the only place that starts processes.
 *
 * One thread for each host makes every child, from the first to the end of the host: a child's
 * parent-death signal comes when the thread that made it ends, and a vfork stops its caller. A
 * child gets the descriptors of its order and nothing else, and its pidfd exists from its birth. */
#ifndef HOST_SPAWN_H
#define HOST_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#define HOST_SPAWN_DESCRIPTORS 6

/* What a child is to be. All of it is the caller's. */
struct host_spawn_order {
    const char *program;
    char *const *arguments;                  /* ended by NULL */
    char *const *environment;                /* ended by NULL */
    int descriptors[HOST_SPAWN_DESCRIPTORS]; /* its 0 to 5; -1: closed in the child */
    bool no_new_privs;
};

struct host_spawned {
    pid_t pid;
    int pidfd; /* CLOEXEC */
};

struct host_spawner;

int host_spawn_open(struct host_spawner **out);

/* Ends the thread: every child that still lives gets its parent-death signal. Accepts NULL. */
void host_spawn_close(struct host_spawner **spawner);

/* Owner thread. -errno with the step that failed in the text; then there is no child. */
int host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
               struct host_spawned *out);

#endif

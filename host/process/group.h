/* SPDX-License-Identifier: Apache-2.0 */
/* group: a segment and the guests in it: one for all trusted guests of a host, and one for each
 * life of every other guest. Owner thread. */
#ifndef HOST_PROCESS_GROUP_H
#define HOST_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hub/shm/segment.h"
#include "hub/shm/slots.h"

/* What the host knows of an entry; nothing of it is read back from the segment. */
struct host_seat {
    bool taken;        /* by a life of ours, until recovery is over */
    bool quarantined;  /* never to be used again */
    uint32_t epoch;    /* of the last life */
    pid_t pid;         /* of the stranger that was seen in it last, coming; 0: not known */
    uint64_t since_ns; /* a stranger was seen in it first; 0: there is none */
};

struct host_group {
    uint64_t number; /* unique in the host, never used again */
    struct hub_segment *segment;
    struct hub_slots pool; /* the host's own slots */
    bool shared;
    bool anonymous;          /* guests that the host did not start may come in */
    uint32_t guests;         /* entries in use */
    uint32_t quarantined;    /* entries out of use for good */
    struct host_seat *seats; /* by peer id */
};

/* Which guests a group is for. */
struct host_group_plan {
    uint64_t number;
    bool shared;      /* for limits->guests_max, in a file; else for one */
    bool anonymous;   /* shared only */
    const char *path; /* of the file, shared only; NULL: a new name */
};
int host_group_create(const struct hub_limits *limits, const struct host_group_plan *plan,
                      struct host_group **out);

/* Nobody may be in it. Accepts NULL. */
void host_group_release(struct host_group **group);

/* Reserves an entry for a guest; in a segment of its own `life`, from 1 on, becomes its epoch.
 * RAPAHUB_EFULL, or -ENOSPC where there is no room for what it needs: nobody else is hurt. */
int host_group_enter(struct host_group *group, uint32_t life, uint32_t *peer, uint32_t *epoch);

/* The entry of a guest that came by itself is that of a life from now on; or -ENOSPC, and nothing
 * has changed. */
int host_group_admit(struct host_group *group, uint32_t peer, uint32_t *epoch);

/* It is not: its guest is sent away before it was served. */
void host_group_dismiss(struct host_group *group, uint32_t peer);

/* The entry is Empty again, all it held is back. Only after proof of death. */
void host_group_leave(struct host_group *group, uint32_t peer);

/* The entry was reserved, and nobody ever was there. */
void host_group_abandon(struct host_group *group, uint32_t peer);

/* Nobody will ever prove that its guest is dead: the entry, and what was lent to it, stay as they
 * are. r[impl hub.death.quarantine] */
void host_group_quarantine(struct host_group *group, uint32_t peer);

#endif

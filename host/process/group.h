/* SPDX-License-Identifier: Apache-2.0 */
/* group: a segment and the guests in it: one for all trusted guests of a host, and one for each
 * life of every other guest. Owner thread. */
#ifndef HOST_PROCESS_GROUP_H
#define HOST_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hub/base/list.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"

/* The host's record of an entry; nothing of it is read back from the segment. */
struct host_seat {
    bool taken;        /* used by a supervised life until its recovery is over */
    bool quarantined;  /* never to be used again */
    uint32_t epoch;    /* the last life's */
    pid_t pid;         /* pid of the last unmanaged guest that was seen attaching; 0: not known */
    uint64_t since_ns; /* when an unmanaged guest was first seen in it; 0: there is none */
};

struct host_group {
    uint64_t number; /* unique in the host, never reused */
    struct hub_segment *segment;
    struct hub_list leased; /* in the list of the lease that holds for it */
    struct hub_slots pool;  /* the host's own slots */
    bool shared;
    bool anonymous;          /* guests that the host did not start may attach */
    uint32_t guests;         /* entries in use */
    uint32_t quarantined;    /* entries out of use for good */
    struct host_seat *seats; /* by peer id */
};

/* The kind of group to make. */
struct host_group_plan {
    uint64_t number;
    bool shared;      /* for limits->guests_max guests, in a file; else for one */
    bool anonymous;   /* shared only */
    const char *path; /* the file's path, shared only; NULL: a new name */
};
int host_group_create(const struct hub_limits *limits, const struct host_group_plan *plan,
                      struct host_group **out);

/* No guest may be in it. NULL is allowed. */
void host_group_release(struct host_group **group);

/* Reserves an entry for a guest. In a private segment `life`, from 1 on, becomes its epoch.
 * RAPAHUB_EFULL, or -ENOSPC if there is no space for its parts; other guests are not affected. */
int host_group_enter(struct host_group *group, uint32_t life, uint32_t *peer, uint32_t *epoch);

/* Records that the entry of an unmanaged guest belongs to a life from now on. -ENOSPC: nothing has
 * changed. */
int host_group_admit(struct host_group *group, uint32_t peer, uint32_t *epoch);

/* Undoes that: the guest is sent away before it was served. */
void host_group_dismiss(struct host_group *group, uint32_t peer);

/* Reclaims everything that the entry held, and makes it Empty. Only after proof of death. */
void host_group_leave(struct host_group *group, uint32_t peer);

/* Frees an entry that was reserved and never used by a guest. */
void host_group_abandon(struct host_group *group, uint32_t peer);

/* Keeps the entry and everything lent to it as they are, because the death of its guest will never
 * be proven. r[impl hub.death.quarantine] */
void host_group_quarantine(struct host_group *group, uint32_t peer);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* process: the third floor of a host: the processes of its guests, and what they are made from. All
 * of it belongs to the owner; the options are constant. */
#ifndef HOST_PROCESS_PROCESS_H
#define HOST_PROCESS_PROCESS_H

#include "host/owner/owner.h"
#include "host/process/group.h"
#include "host/process/lease.h"
#include "host/process/modules.h"
#include "host/process/options.h"
#include "host/process/spawn.h"
#include "host/process/zombies.h"
#include "hub/base/closer.h"

struct host_process {
    struct host_owner owner;
    struct host_options options;
    bool has_cgroup;
    int cgroup; /* in which the host makes the cgroups of its guests */
    struct host_spawner *spawner;
    struct host_modules modules;
    struct host_group *shared; /* group of all trusted guests; NULL: none yet */
    uint64_t groups;           /* the last number of a group */
    struct hub_list lives;     /* the present lives */
    struct hub_list ended;     /* ended lives that are still used */
    struct host_lease lease;   /* any thread */
    struct host_timer linger;  /* for pipes that outlive their guest */
    struct host_zombies zombies;
    struct hub_closer *closer; /* closes descriptors from guests; released last */
    bool closing;              /* the host ends: no new life begins */
};

#define HOST_PROCESS(host) HOST_FLOOR(host_process, host)

#endif

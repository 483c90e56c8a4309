/* SPDX-License-Identifier: Apache-2.0 */
/* zombies: guests that are dead but not reaped yet. If a guest is traced, the kernel reports its
 * death, but gives its status to no other process until the tracer releases it. Owner thread. */
#ifndef HOST_PROCESS_ZOMBIES_H
#define HOST_PROCESS_ZOMBIES_H

#include "host/owner/loop.h"
#include "hub/base/list.h"

struct host_zombies {
    struct hub_list list;
    struct host_timer again;
    struct host_loop *loop;
};

void host_zombies_open(struct host_zombies *zombies, struct host_loop *loop);

/* Reaps the dead process of *pidfd. If that is not possible yet, it keeps the descriptor (*pidfd
 * becomes -1) and tries again once a second. r[impl supervise.reap] */
void host_zombies_reap(struct host_zombies *zombies, int *pidfd);

/* Waits briefly for the rest. */
void host_zombies_close(struct host_zombies *zombies);

#endif

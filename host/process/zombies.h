/* SPDX-License-Identifier: Apache-2.0 */
/* zombies: guests that are dead and not reaped yet: of one that is traced the kernel says that it
 * is dead, but gives its status to nobody else until whoever traces it lets go. Owner only. */
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

/* Reaps the dead process of *pidfd; where that cannot be yet, it takes the descriptor (*pidfd is -1
 * then) and tries again, once a second. r[impl supervise.reap] */
void host_zombies_reap(struct host_zombies *zombies, int *pidfd);

/* Waits for what is left, a moment. */
void host_zombies_close(struct host_zombies *zombies);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* confinement: which lives have a cgroup of their own, and what it says of their ends. Owner. */
#ifndef HOST_PROCESS_CONFINEMENT_H
#define HOST_PROCESS_CONFINEMENT_H

#include <stdbool.h>

struct host_guest;
struct host_life;
struct host_process;
struct rapahub_supervision;

/* -EINVAL where what it asks for needs cgroup v2, and there is none. `how` may be NULL. */
int host_confinement_check(struct host_process *host, const struct rapahub_supervision *how);

/* Makes one where limits or its end call for it: `life->cgroup`. Where that cannot be, it says so
 * once, or fails where the limits are required. */
int host_confinement_enter(struct host_guest *guest, struct host_life *life);

/* Its process is proven dead: did the kernel kill it for want of memory, and who goes with it? */
void host_confinement_ended(struct host_life *life);

/* Is somebody still in it who is being killed, and may that take longer? */
bool host_confinement_lasts(const struct host_life *life);

void host_confinement_leave(struct host_life *life);

#endif

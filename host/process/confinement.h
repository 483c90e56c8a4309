/* SPDX-License-Identifier: Apache-2.0 */
/* confinement: which lives have a cgroup of their own, and what follows from it when they end.
 * Owner thread. */
#ifndef HOST_PROCESS_CONFINEMENT_H
#define HOST_PROCESS_CONFINEMENT_H

#include <stdbool.h>

struct host_guest;
struct host_life;
struct host_process;
struct rapahub_supervision;

/* Checks options for a guest, before it has a life. -EINVAL if they need cgroup v2 and there is
 * none. `how` may be NULL. */
int host_confinement_check(struct host_process *host, const struct rapahub_supervision *how);

/* Makes `life->cgroup` if the limits or the kill mode of the guest need one. If that fails it logs
 * so once for each guest, or fails if the options require the cgroup. */
int host_confinement_enter(struct host_guest *guest, struct host_life *life);

/* Called when the process is proven dead: finds out whether the kernel killed it for lack of
 * memory, and kills the rest of the cgroup if the options say so. */
void host_confinement_ended(struct host_life *life);

/* Says whether killed processes are still in the cgroup, within the time that they may take to
 * end. */
bool host_confinement_lasts(const struct host_life *life);

void host_confinement_leave(struct host_life *life);

#endif

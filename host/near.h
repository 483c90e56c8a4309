/* SPDX-License-Identifier: Apache-2.0 */
/* near: where this thread called last, as long as nothing has changed in the host since: no lock of
 * routes, no look-up, no count that other threads write. While the thread is inside (scratch.h),
 * the life and the container stay as for one that is counted among their users. */
#ifndef HOST_NEAR_H
#define HOST_NEAR_H

#include <rapahub/host.h>

#include "host/scratch.h"

/* The thread's scratch, whose life is that of the target: it is inside until it leaves. NULL, and
 * it is not, where the target is another one or may live elsewhere now. Any thread. */
struct host_scratch *host_near_enter(struct rapahub_host *host, struct rapahub_container_id target);

/* The same for the owner, who alone changes what is where and frees it: it is not inside, and all
 * is as it was until it takes a turn. NULL also where it is inside already. */
struct host_scratch *host_near_of_owner(struct rapahub_host *host,
                                        struct rapahub_container_id target);

/* The same where nothing of a guest's is shown to the thread besides. */
struct host_scratch *host_near_at_rest(struct rapahub_host *host,
                                       struct rapahub_container_id target);

/* Any thread, of what that found: the second half of host_near_enter. */
bool host_near_go_in(struct rapahub_host *host, struct host_scratch *scratch);

void host_near_leave(struct rapahub_host *host, struct host_scratch *scratch);

#endif

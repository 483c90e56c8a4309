/* SPDX-License-Identifier: Apache-2.0 */
/* detached: tasks that no thread waits for: who wanted one is told when it is over. Owner. */
#ifndef HOST_OWNER_DETACHED_H
#define HOST_OWNER_DETACHED_H

#include <rapahub/host.h>

#include "host/owner/threads.h"

struct host_owner;

struct host_detached {
    struct hub_list link; /* in the host's detached tasks */
    const struct host_threads_task *task;
    void *argument;
    void (*on_over)(struct host_detached *detached, int r); /* its memory is the other's again */
};

/* Begins it, on the owner, and returns: 0, or why it did not begin; then nobody is told. Any
 * thread, as host_threads_run. */
int host_detached_begin(struct host_owner *host, struct host_detached *detached);

/* The same with a copy of the argument, and memory of its own. on_done runs once, unless it fails:
 * it is a callback of the host, its result is NULL. */
struct host_detached_plan {
    const struct host_threads_task *task;
    const void *argument;
    size_t size; /* of it */
    rapahub_on_done *on_done;
    void *user;
};
int host_detached_make(struct host_owner *host, const struct host_detached_plan *plan);

/* Tells of those that are over, at the end of a turn: how many. */
int host_detached_settle(struct host_owner *host);

/* What has changed may have ended one of them: then there is a turn soon. */
void host_detached_rouse(struct host_owner *host);

/* The host ends, and all guests have that can be killed: so do these, within a moment. */
void host_detached_end_all(struct host_owner *host);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* detached: tasks that no thread waits for. A callback reports the end of each. Owner thread,
 * except where a function says otherwise. */
#ifndef HOST_OWNER_DETACHED_H
#define HOST_OWNER_DETACHED_H

#include <rapahub/host.h>

#include "host/owner/threads.h"

struct host_owner;

struct host_detached {
    struct hub_list link; /* in the host's detached tasks */
    const struct host_threads_task *task;
    void *argument;
    /* called once; `detached` belongs to the callee from then on */
    void (*on_over)(struct host_detached *detached, int r);
};

/* Begins the task on the owner, and returns. 0; or a failure if it did not begin: on_over is not
 * called then. Allowed on the same threads as host_threads_run. */
int host_detached_begin(struct host_owner *host, struct host_detached *detached);

/* The same for a task that changes no life of a guest: it may begin in a turn, and in a callback of
 * the embedder. Any thread. -ETIMEDOUT if the owner takes no turn until then. */
int host_detached_begin_in_turn(struct host_owner *host, struct host_detached *detached,
                                uint64_t deadline_ns);

/* The same, with memory of its own and a copy of the argument. on_done is a callback of the host:
 * it runs once, unless this function fails. Nothing may refer to the argument after the task's end:
 * with the host it ends in any case. Allowed on the same threads as host_threads_run, or as
 * host_detached_begin_in_turn. */
struct host_detached_plan {
    const struct host_threads_task *task;
    const void *argument;
    size_t size; /* bytes of the argument */
    rapahub_on_done *on_done;
    void *user;
    /* what on_done is given by a task that has not failed; NULL: nothing */
    const void *(*result)(const void *argument);
    uint64_t in_turn_until_ns; /* it may begin in a turn, until then; 0: between turns only */
};
int host_detached_make(struct host_owner *host, const struct host_detached_plan *plan);

/* Owner, at the end of a turn: reports the tasks that are over, and returns their number. */
int host_detached_settle(struct host_owner *host);

/* Owner: called after a change that may have ended a task. If one is over, the next turn comes at
 * once. */
void host_detached_rouse(struct host_owner *host);

/* Owner, as the host ends and all guests have ended that can be killed: waits at most 2 s for the
 * tasks to end, and then ends the rest. None begins any more: RAPAHUB_ESTALE. */
void host_detached_end_all(struct host_owner *host);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* state_step: a step of a container's life in which its state goes out or in, piece by piece, as a
 * task of the owner which no turn waits for. If it fails, the container is as it was before, but
 * where its module could not load. Owner thread. */
#ifndef HOST_CONTAINER_STATE_STEP_H
#define HOST_CONTAINER_STATE_STEP_H

#include "host/container/course.h"
#include "host/container/pieces.h"
#include "host/container/state_in.h"
#include "host/container/state_out.h"

/* Zeroed except for the members after the first. It must stay where it is from the begin of the
 * task to its end. */
struct host_state_step {
    struct host_course course;
    struct rapahub_container_id target;
    enum hub_lifecycle_method method; /* SAVE, SAVE_CHANGES or LOAD_CHANGES */
    uint64_t timeout_ns;              /* 0: the call time-out of the host */
    uint64_t token;                   /* the life that is meant; 0: any */
    struct rapahub_pieces pieces;
    bool whole; /* after SAVE_CHANGES: the module has saved its whole state */

    struct host_pieces callee; /* the rest is set by the task */
    struct host_state_out out;
    struct host_state_in in;
};

/* The argument is a host_state_step. */
extern const struct host_threads_task host_state_step_task;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* beginning: the begin of a container as a task of the owner which no turn waits for, with a state
 * that comes piece by piece, or without one. If it fails, nothing of the container is left. Owner
 * thread. */
#ifndef HOST_CONTAINER_BEGINNING_H
#define HOST_CONTAINER_BEGINNING_H

#include "host/container/begin.h"
#include "host/container/course.h"
#include "host/container/pieces.h"
#include "host/container/state_in.h"

enum host_beginning_phase {
    HOST_BEGINNING_ASK,   /* the guest is to begin it, when there is space for the message */
    HOST_BEGINNING_ASKED, /* the guest begins it */
    HOST_BEGINNING_STATE, /* its state comes */
    HOST_BEGINNING_OPEN,  /* the guest is to give its roles messages and values */
    HOST_BEGINNING_SHOW,  /* calls may reach it */
    HOST_BEGINNING_FINI,  /* it failed; the guest ends it */
    HOST_BEGINNING_BACK,  /* the same, and it does not wait for the guest */
    HOST_BEGINNING_OVER
};

/* Zeroed except for the members after the first; the options are copied at the begin. It must stay
 * where it is from the begin of the task to its end. */
struct host_beginning {
    struct host_course course;
    struct rapahub_guest_id guest;
    const struct rapahub_container_options *options;
    enum rapahub_begin how;
    uint64_t timeout_ns;          /* 0: the call time-out of the host */
    struct rapahub_pieces pieces; /* its state; without a callback: none */

    enum host_beginning_phase phase; /* the rest is set by the task */
    uint32_t roles;                  /* so many of its roles the guest has */
    /* `role` is the next one, and its region was sent: the guest may have taken it up, or not */
    bool granted;
    struct host_begin_role role;
    struct host_question question;
    struct host_pieces callee;
    struct host_state_in in;
};

/* The argument is a host_beginning. Its begin fails if the guest is not up, or has the container.
 */
extern const struct host_threads_task host_beginning_task;

#endif

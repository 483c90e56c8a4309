/* SPDX-License-Identifier: Apache-2.0 */
/* step: one step of a container's life as a task of the owner, which no turn waits for: the
 * container is found when its guest is ready, asked a question, and what follows from the answer is
 * done. Many run at a time. A step ends when it is answered, at its deadline, and when the guest is
 * dead. Owner thread. */
#ifndef HOST_CONTAINER_STEP_H
#define HOST_CONTAINER_STEP_H

#include <rapahub/call.h>

#include "host/container/asked.h"
#include "host/container/question.h"
#include "host/owner/changes.h"
#include "host/owner/loop.h"
#include "host/owner/threads.h"
#include "host/owner/verdict.h"
#include "hub/wire/lifecycle.h"

struct host_step;

enum host_step_kind {
    HOST_STEP_ASK,    /* a question, and nothing else */
    HOST_STEP_PLUG,   /* refuse its calls, or accept them again */
    HOST_STEP_DRAIN,  /* until no call is open in it, and no work is left */
    HOST_STEP_REMOVE, /* it ends */
};

/* The memory of a step, zeroed except for the first members. It must stay where it is from the
 * begin of the task to its end. */
struct host_step {
    struct rapahub_container_id target;
    enum host_step_kind kind;
    enum hub_lifecycle_method method; /* for ASK */
    uint64_t timeout_ns;              /* 0: the call time-out of the host */
    uint64_t token;                   /* the life that is meant; 0: any */
    bool plugged;                     /* for PLUG */
    uint64_t node;                    /* argument of MIGRATE and EXPAND */
    struct hub_container lost;        /* argument of RECOVER */
    struct hub_asked route;           /* argument of ROUTE */
    uint64_t number;                  /* the result of a question that has one */
    struct rapahub_query query;       /* the result of ROUTE */

    struct host_asked asked; /* the rest is set by the task */
    uint64_t began_ns;
    struct host_timer timer;
    struct host_listener listener;
    struct host_verdict verdict;
    struct host_question question;
    bool closed; /* PLUG has closed the container here */
    bool awaits; /* DRAIN is one of the awaiters of the container */
    bool over;
};

/* The argument is a host_step. Its result is that of the step. */
extern const struct host_threads_task host_step_task;

#endif

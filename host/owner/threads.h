/* SPDX-License-Identifier: Apache-2.0 */
/* threads: which thread owns the host, and how other threads run work on it. */
#ifndef HOST_OWNER_THREADS_H
#define HOST_OWNER_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"

struct host_owner;

struct host_threads {
    struct hub_a64 owner; /* its pthread_t. Changes while threads of the pool look at it */
    bool own;             /* the owner is a thread of the library */
    pthread_t thread;
    struct hub_a32 end; /* 1: the library's thread shall end */
    struct hub_mutex lock;
    struct hub_list jobs GUARDED_BY(lock);
    struct hub_list tasks; /* tasks that have begun and are not over; owner */
};

/* Work for the owner. Returns 0 or a failure with its diagnosis. */
typedef int host_threads_job(struct host_owner *host, void *argument);

/* Work that takes longer than a turn, and needs the owner only at its begin and at its end. */
struct host_threads_task {
    host_threads_job *begin;               /* after a failure the other two are not called */
    bool (*is_over)(const void *argument); /* asked between turns */
    host_threads_job *end;                 /* returns the task's result */
};

void host_threads_init(struct host_threads *threads);
void host_threads_fini(struct host_threads *threads);

/* Makes a new thread of the library the owner. Called by the present owner. */
int host_threads_start(struct host_owner *host);

/* Ends and joins that thread, if there is one. The calling thread owns the host then. */
void host_threads_stop(struct host_owner *host);

/* Runs the job on the owner and waits for it. The job may change the lives of guests, so it runs
 * only between turns. On another thread than the owner this needs an owner that is a thread of the
 * library. RAPAHUB_ESTATE otherwise, and wherever host_ownership_check refuses the owner. */
int host_threads_run(struct host_owner *host, host_threads_job *job, void *argument);

/* The same for a task. The tasks of several waiting threads run at the same time. The owner itself
 * takes turns until its own task is over. */
int host_threads_await(struct host_owner *host, const struct host_threads_task *task,
                       void *argument);

/* The `on` of a timer that ends a task. It does nothing: the turn it causes is enough. Owner. */
void host_threads_on_due(void *user);

/* The same as host_threads_run for a job that changes nothing: the owner may call it from a
 * callback, too. */
int host_threads_look(struct host_owner *host, host_threads_job *job, void *argument);

/* The same for a job that may run in any turn of the owner. Any thread. -ETIMEDOUT if it has not
 * begun at the deadline. */
int host_threads_ask(struct host_owner *host, host_threads_job *job, void *argument,
                     uint64_t deadline_ns);

/* Owner: runs all jobs if it is between turns, else those that may run in a turn. Returns their
 * number. */
int host_threads_serve(struct host_owner *host, bool between_turns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* threads: who owns the host, and how others have the owner do something for them. */
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
    pthread_t owner;
    bool own; /* the owner is a thread of the library */
    pthread_t thread;
    struct hub_a32 end; /* the library's thread is to end */
    struct hub_mutex lock;
    struct hub_list jobs GUARDED_BY(lock);
    struct hub_list tasks; /* that have begun and are not over; owner */
};

/* What the owner is to do; returns 0 or a failure with its diagnosis. */
typedef int host_threads_job(struct host_owner *host, void *argument);

/* What takes longer than a turn, and needs the owner to begin and to end it only. */
struct host_threads_task {
    host_threads_job *begin;               /* where it fails, that is all */
    bool (*is_over)(const void *argument); /* asked between turns */
    host_threads_job *end;                 /* its result is the task's */
};

void host_threads_init(struct host_threads *threads);
void host_threads_fini(struct host_threads *threads);

/* Makes a thread of the library the owner. */
int host_threads_start(struct host_owner *host);

/* Ends and joins it; the calling thread owns the host then. */
void host_threads_stop(struct host_owner *host);

/* Runs the job on the owner and waits for it. A job that changes the life of guests runs only
 * between turns, and only where the library owns the thread: else RAPAHUB_ESTATE. */
int host_threads_run(struct host_owner *host, host_threads_job *job, void *argument);

/* The same for a task: where several threads wait for some, they are under way at the same time.
 * The owner takes turns until its own is over. */
int host_threads_await(struct host_owner *host, const struct host_threads_task *task,
                       void *argument);

/* `on` of a timer by which a task is over: that a turn comes is all that is needed. */
void host_threads_on_due(void *user);

/* As host_threads_run, for what changes nothing: on the owner from a callback, too. */
int host_threads_look(struct host_owner *host, host_threads_job *job, void *argument);

/* As host_threads_run, for what may run in any turn of the owner: -ETIMEDOUT where it has not begun
 * by then. */
int host_threads_ask(struct host_owner *host, host_threads_job *job, void *argument,
                     uint64_t deadline_ns);

/* Owner: runs the jobs that may run in a turn, or all: how many. */
int host_threads_serve(struct host_owner *host, bool between_turns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/threads.h"

#include <rapahub/error.h>

#include "host/owner/forked.h"
#include "host/owner/owner.h"
#include "host/owner/ownership.h"
#include "host/owner/verdict.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/thread.h"

#define SLICE   HUB_SECOND
#define IDLE_MS 10000
#define TURN_MS 1000 /* length of a turn of an owner that waits for its own task */

/* Lies on the stack of the thread that waits for it. */
struct job {
    host_threads_job *run;
    const struct host_threads_task *task; /* NULL: `run` is to be run */
    void *argument;
    bool in_turn; /* it may run during a turn */
    struct host_verdict verdict;
    struct hub_a32 done;
    struct hub_list link;
};

void host_threads_init(struct host_threads *threads)
{
    hub_store_relaxed64(&threads->owner, (uintptr_t)pthread_self());
    hub_mutex_init(&threads->lock, HUB_MUTEX_TASKS);
    hub_list_init(&threads->jobs);
    hub_list_init(&threads->tasks);
}

void host_threads_fini(struct host_threads *threads)
{
    hub_mutex_fini(&threads->lock);
}

static struct job *next_job(struct host_threads *threads, bool all)
{
    struct job *found = NULL;

    hub_mutex_lock(&threads->lock);
    HUB_LIST_EACH (&threads->jobs, link) {
        struct job *job = HUB_LIST_ITEM(link, struct job, link);

        if (!all && !job->in_turn)
            continue;
        hub_list_remove(&job->link);
        found = job;
        break;
    }
    hub_mutex_unlock(&threads->lock);
    return found;
}

/* Reports the result. After that the job's memory belongs to its waiting thread again. */
static void finish(struct job *job, int r)
{
    if (r < 0)
        host_verdict_take(&job->verdict, r);
    else
        job->verdict.code = r;
    hub_publish(&job->done, 1);
    hub_futex_wake_private(&job->done);
}

static void begin(struct host_owner *host, struct job *job)
{
    int r = job->task ? job->task->begin(host, job->argument) : job->run(host, job->argument);

    if (job->task && r == 0)
        hub_list_append(&host->threads.tasks, &job->link);
    else
        finish(job, r);
}

static int end_tasks(struct host_owner *host)
{
    int count = 0;

    HUB_LIST_EACH (&host->threads.tasks, link) {
        struct job *job = HUB_LIST_ITEM(link, struct job, link);

        if (!job->task->is_over(job->argument))
            continue;
        hub_list_remove(&job->link);
        finish(job, job->task->end(host, job->argument));
        count++;
    }
    return count;
}

/* A task may be over as soon as it has begun, and may end in the turns that a job takes. */
int host_threads_serve(struct host_owner *host, bool between_turns)
{
    int count = between_turns ? end_tasks(host) : 0;

    for (struct job *job; (job = next_job(&host->threads, between_turns)); count++) {
        begin(host, job);
        if (between_turns)
            count += end_tasks(host);
    }
    return count;
}

static void *run_thread(void *argument)
{
    struct host_owner *host = argument;

    host_routes_read(&host->registry.routes); /* waits until it is the owner */
    host_routes_unlock(&host->registry.routes);
    while (hub_observe(&host->threads.end) == 0) {
        if (host_wait_turn(host, IDLE_MS) < 0)
            rapahub_log(RAPAHUB_LOG_ERROR, "threads", "%s", rapahub_last_error()->text);
        host_threads_serve(host, true);
    }
    return NULL;
}

int host_threads_start(struct host_owner *host)
{
    int r;

    host_routes_write(&host->registry.routes);
    r = hub_thread_start(&host->threads.thread, run_thread, host);
    if (r == 0) {
        host->threads.own = true;
        hub_store_relaxed64(&host->threads.owner, (uintptr_t)host->threads.thread);
    }
    host_routes_unlock(&host->registry.routes);
    return r == 0 ? 0 : rapahub_fail(r, "", "cannot start the host's thread");
}

void host_threads_stop(struct host_owner *host)
{
    if (!host->threads.own)
        return;
    hub_publish(&host->threads.end, 1);
    host_loop_wake(&host->loop);
    pthread_join(host->threads.thread, NULL);
    host->threads.own = false;
    hub_store_relaxed64(&host->threads.owner, (uintptr_t)pthread_self());
}

static void post(struct host_owner *host, struct job *job)
{
    hub_mutex_lock(&host->threads.lock);
    hub_list_append(&host->threads.jobs, &job->link);
    hub_mutex_unlock(&host->threads.lock);
    host_loop_wake(&host->loop);
}

/* Removes the job from the queue. True if the owner has not begun it. */
static bool take_back(struct host_owner *host, struct job *job)
{
    bool waiting;

    hub_mutex_lock(&host->threads.lock);
    waiting = !hub_list_empty(&job->link);
    hub_list_remove(&job->link);
    hub_mutex_unlock(&host->threads.lock);
    return waiting;
}

static int wait_for(struct host_owner *host, struct job *job, uint64_t deadline)
{
    while (hub_observe(&job->done) == 0) {
        uint64_t slice = hub_clock_after(SLICE);

        hub_futex_wait_private(&job->done, 0, deadline < slice ? deadline : slice);
        if (hub_observe(&job->done) != 0 || hub_clock_left(deadline) > 0)
            continue;
        if (take_back(host, job))
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the owner of the host did not dispatch");
        deadline = HUB_NEVER; /* it has begun, and uses our stack */
    }
    return host_verdict_give(&job->verdict);
}

int host_threads_run(struct host_owner *host, host_threads_job *job, void *argument)
{
    struct job posted = {.run = job, .argument = argument};
    int r = host_ownership_check(host);

    if (host_ownership_is_owner(host))
        return r < 0 ? r : job(host, argument);
    if (!host->threads.own || host_forked_check(host) < 0)
        return r;
    post(host, &posted);
    return wait_for(host, &posted, HUB_NEVER);
}

int host_threads_look(struct host_owner *host, host_threads_job *job, void *argument)
{
    int r = host_forked_check(host);

    if (r < 0 || !host_ownership_is_owner(host))
        return r < 0 ? r : host_threads_run(host, job, argument);
    return job(host, argument);
}

static int await_as_owner(struct host_owner *host, const struct host_threads_task *task,
                          void *argument)
{
    int turn = 0, r = task->begin(host, argument);

    if (r < 0)
        return r;
    while (turn >= 0 && !task->is_over(argument))
        turn = host_wait_turn(host, TURN_MS);
    r = task->end(host, argument);
    return turn < 0 ? turn : r;
}

int host_threads_await(struct host_owner *host, const struct host_threads_task *task,
                       void *argument)
{
    struct job posted = {.task = task, .argument = argument};
    int r = host_ownership_check(host);

    if (host_ownership_is_owner(host))
        return r < 0 ? r : await_as_owner(host, task, argument);
    if (!host->threads.own || host_forked_check(host) < 0)
        return r;
    post(host, &posted);
    return wait_for(host, &posted, HUB_NEVER);
}

void host_threads_on_due(void *user)
{
    (void)user;
}

int host_threads_ask(struct host_owner *host, host_threads_job *job, void *argument,
                     uint64_t deadline_ns)
{
    struct job posted = {.run = job, .argument = argument, .in_turn = true};

    if (host_ownership_is_owner(host))
        return job(host, argument);
    post(host, &posted);
    return wait_for(host, &posted, deadline_ns);
}

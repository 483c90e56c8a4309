/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the functions of <rapahub/lifecycle.h>, each run on the owner. */
#include <rapahub/lifecycle.h>

#include "host/call/call.h"
#include "host/container/container_lifecycle.h"
#include "host/container/step.h"
#include "host/owner/forked.h"
#include "host/owner/threads.h"
#include "hub/base/clock.h"

/* The arguments of any of these functions, for the owner. */
struct job {
    struct rapahub_container_id target;
    struct host_container_lifecycle_begin begin;
    bool held;
    struct rapahub_sink *to;
    struct rapahub_source *from;
    bool *whole;
};

static int run_begin(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);

    return host_container_lifecycle_begin(host, &((struct job *)argument)->begin);
}

int rapahub_host_begin(struct rapahub_host *host, struct rapahub_guest_id guest,
                       const struct rapahub_container_options *options, enum rapahub_begin how,
                       struct rapahub_source *state)
{
    struct job job = {.begin = {guest, options, how, state}};

    return host_threads_run(HOST_OWNER(host), run_begin, &job);
}

/* Each of these steps is the same as its asynchronous twin: see lifecycle_async.c. */
static int await(struct rapahub_host *host, struct host_step *step)
{
    return host_threads_await(HOST_OWNER(host), &host_step_task, step);
}

int rapahub_host_plug(struct rapahub_host *host, struct rapahub_container_id target, bool plugged)
{
    struct host_step step = {.target = target, .kind = HOST_STEP_PLUG, .plugged = plugged};

    return await(host, &step);
}

static int run_hold(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    const struct job *job = argument;

    return host_container_lifecycle_hold(host, job->target, job->held);
}

int rapahub_host_hold(struct rapahub_host *host, struct rapahub_container_id target, bool held)
{
    struct job job = {.target = target, .held = held};
    int r = host_forked_check(HOST_OWNER(host));

    return r < 0 ? r
                 : host_threads_ask(HOST_OWNER(host), run_hold, &job,
                                    hub_clock_after(HOST_PROCESS(host)->options.call_timeout_ns));
}

/* A time of 0 is over at once. */
int rapahub_host_drain(struct rapahub_host *host, struct rapahub_container_id target,
                       uint64_t timeout_ns)
{
    struct host_step step = {
        .target = target, .kind = HOST_STEP_DRAIN, .timeout_ns = timeout_ns ? timeout_ns : 1};

    return await(host, &step);
}

static int run_save(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    const struct job *job = argument;

    return host_container_lifecycle_save(host, job->target, job->to);
}

int rapahub_host_save(struct rapahub_host *host, struct rapahub_container_id target,
                      struct rapahub_sink *to)
{
    struct job job = {.target = target, .to = to};

    return host_threads_run(HOST_OWNER(host), run_save, &job);
}

static int run_save_changes(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    const struct job *job = argument;

    return host_container_lifecycle_save_changes(host, job->target, job->to, job->whole);
}

int rapahub_host_save_changes(struct rapahub_host *host, struct rapahub_container_id target,
                              struct rapahub_sink *to, bool *whole)
{
    struct job job = {.target = target, .to = to, .whole = whole};

    return host_threads_run(HOST_OWNER(host), run_save_changes, &job);
}

static int run_load_changes(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    const struct job *job = argument;

    return host_container_lifecycle_load_changes(host, job->target, job->from);
}

int rapahub_host_load_changes(struct rapahub_host *host, struct rapahub_container_id target,
                              struct rapahub_source *from)
{
    struct job job = {.target = target, .from = from};

    return host_threads_run(HOST_OWNER(host), run_load_changes, &job);
}

int rapahub_host_remove_container(struct rapahub_host *host, struct rapahub_container_id target)
{
    struct host_step step = {.target = target, .kind = HOST_STEP_REMOVE};

    return await(host, &step);
}

int rapahub_host_work_remaining(struct rapahub_host *host, struct rapahub_container_id target,
                                uint64_t *out)
{
    struct host_step step = {.target = target, .method = HUB_LIFECYCLE_WORK};
    int r = await(host, &step);

    if (r == 0)
        *out = step.number;
    return r;
}

int rapahub_host_migrate(struct rapahub_host *host, struct rapahub_container_id target,
                         struct rapahub_node_id node)
{
    struct host_step step = {
        .target = target, .method = HUB_LIFECYCLE_MIGRATE, .node = node.number};

    return await(host, &step);
}

int rapahub_host_expand(struct rapahub_host *host, struct rapahub_container_id target,
                        struct rapahub_node_id joined)
{
    struct host_step step = {
        .target = target, .method = HUB_LIFECYCLE_EXPAND, .node = joined.number};

    return await(host, &step);
}

int rapahub_host_schedule_recover(struct rapahub_host *host, struct rapahub_container_id target,
                                  struct rapahub_container_id lost, struct rapahub_node_id *out)
{
    struct host_step step = {.target = target,
                             .method = HUB_LIFECYCLE_RECOVER,
                             .lost = {lost.pool.major, lost.pool.minor, lost.container}};
    int r = await(host, &step);

    if (r == 0)
        out->number = step.number;
    return r;
}

int rapahub_host_health(struct rapahub_host *host, struct rapahub_container_id target,
                        uint32_t *out)
{
    struct host_step step = {.target = target, .method = HUB_LIFECYCLE_HEALTH};
    int r = await(host, &step);

    if (r == 0)
        *out = (uint32_t)step.number;
    return r;
}

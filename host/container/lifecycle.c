/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the functions of <rapahub/lifecycle.h>, each run on the owner. */
#include <rapahub/lifecycle.h>

#include "host/call/call.h"
#include "host/container/container_lifecycle.h"
#include "host/owner/forked.h"
#include "host/owner/threads.h"
#include "hub/base/clock.h"

/* The arguments of any of these functions, for the owner. */
struct job {
    struct rapahub_container_id target;
    struct host_container_lifecycle_begin begin;
    bool plugged, held;
    uint64_t timeout_ns;
    struct rapahub_sink *to;
    struct rapahub_source *from;
    bool *whole;
    enum hub_lifecycle_method method;
    const void *const *arguments;
    void *result;
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

static int run_plug(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    const struct job *job = argument;

    return host_container_lifecycle_plug(host, job->target, job->plugged);
}

int rapahub_host_plug(struct rapahub_host *host, struct rapahub_container_id target, bool plugged)
{
    struct job job = {.target = target, .plugged = plugged};

    return host_threads_run(HOST_OWNER(host), run_plug, &job);
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

static int run_drain(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    const struct job *job = argument;

    return host_container_lifecycle_drain(host, job->target, job->timeout_ns);
}

int rapahub_host_drain(struct rapahub_host *host, struct rapahub_container_id target,
                       uint64_t timeout_ns)
{
    struct job job = {.target = target, .timeout_ns = timeout_ns};

    return host_threads_run(HOST_OWNER(host), run_drain, &job);
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

static int run_remove(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);

    return host_container_lifecycle_remove(host, ((const struct job *)argument)->target);
}

int rapahub_host_remove_container(struct rapahub_host *host, struct rapahub_container_id target)
{
    struct job job = {.target = target};

    return host_threads_run(HOST_OWNER(host), run_remove, &job);
}

static int run_ask(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    const struct job *job = argument;

    return host_container_lifecycle_ask(host, job->target, job->method, job->arguments,
                                        job->result);
}

int rapahub_host_work_remaining(struct rapahub_host *host, struct rapahub_container_id target,
                                uint64_t *out)
{
    struct job job = {.target = target, .method = HUB_LIFECYCLE_WORK, .result = out};

    return host_threads_run(HOST_OWNER(host), run_ask, &job);
}

int rapahub_host_migrate(struct rapahub_host *host, struct rapahub_container_id target,
                         struct rapahub_node_id node)
{
    const void *const arguments[] = {&node.number, NULL};
    struct job job = {.target = target, .method = HUB_LIFECYCLE_MIGRATE, .arguments = arguments};

    return host_threads_run(HOST_OWNER(host), run_ask, &job);
}

int rapahub_host_expand(struct rapahub_host *host, struct rapahub_container_id target,
                        struct rapahub_node_id joined)
{
    const void *const arguments[] = {&joined.number, NULL};
    struct job job = {.target = target, .method = HUB_LIFECYCLE_EXPAND, .arguments = arguments};

    return host_threads_run(HOST_OWNER(host), run_ask, &job);
}

int rapahub_host_schedule_recover(struct rapahub_host *host, struct rapahub_container_id target,
                                  struct rapahub_container_id lost, struct rapahub_node_id *out)
{
    const struct hub_container id = {lost.pool.major, lost.pool.minor, lost.container};
    const void *const arguments[] = {&id, NULL};
    struct job job = {.target = target,
                      .method = HUB_LIFECYCLE_RECOVER,
                      .arguments = arguments,
                      .result = &out->number};

    return host_threads_run(HOST_OWNER(host), run_ask, &job);
}

int rapahub_host_health(struct rapahub_host *host, struct rapahub_container_id target,
                        uint32_t *out)
{
    uint8_t health = 0;
    struct job job = {.target = target, .method = HUB_LIFECYCLE_HEALTH, .result = &health};
    int r = host_threads_run(HOST_OWNER(host), run_ask, &job);

    if (r < 0)
        return r;
    *out = health;
    return 0;
}

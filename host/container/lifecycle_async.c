/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle_async: the steps of <rapahub/lifecycle.h> whose end a callback reports. Any thread. */
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "host/call/call.h"
#include "host/container/container_lifecycle.h"
#include "host/container/step.h"
#include "host/owner/detached.h"
#include "host/owner/forked.h"
#include "hub/base/clock.h"

struct pending {
    struct host_detached detached;
    struct host_step step;
    struct host_container_lifecycle_beginning beginning; /* instead of a step */
    rapahub_on_done *on_done;
    void *user;
    bool has_result;
};

static void on_over(struct host_detached *detached, int r)
{
    struct pending *pending = HUB_LIST_ITEM(&detached->link, struct pending, detached.link);

    pending->on_done(pending->user, r,
                     r == 0 && pending->has_result ? &pending->step.number : NULL);
    free(pending);
}

static int check(const struct rapahub_host *host, const struct rapahub_step *asked)
{
    int r = host_forked_check(HOST_OWNER((struct rapahub_host *)(uintptr_t)host));

    if (r < 0)
        return r;
    if (!asked || !asked->on_done)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a step without a wait needs an on_done");
    for (size_t i = 0; i < sizeof asked->reserved / sizeof *asked->reserved; i++)
        if (asked->reserved[i] != 0)
            return rapahub_fail(RAPAHUB_EINVAL, "",
                                "the step asks for something this release does not know");
    return 0;
}

/* Begins the step in the next turn at the latest: it changes no life, so it may begin in a turn. */
static int begin(struct rapahub_host *host, const struct rapahub_step *asked, struct host_step step)
{
    struct pending *pending;
    int r = check(host, asked);

    if (r < 0)
        return r;
    pending = calloc(1, sizeof *pending);
    if (!pending)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a step of a container");
    step.target = asked->target;
    step.timeout_ns = asked->timeout_ns;
    pending->step = step;
    pending->on_done = asked->on_done;
    pending->user = asked->user;
    pending->has_result = step.kind == HOST_STEP_ASK &&
                          hub_lifecycle_table[step.method].types[0]->kind != RAPAHUB_KIND_VOID;
    pending->detached = (struct host_detached){
        .task = &host_step_task, .argument = &pending->step, .on_over = on_over};
    r = host_detached_begin_in_turn(HOST_OWNER(host), &pending->detached,
                                    hub_clock_after(HOST_PROCESS(host)->options.call_timeout_ns));
    if (r < 0)
        free(pending);
    return r;
}

int rapahub_host_begin_async(struct rapahub_host *host, const struct rapahub_step *step,
                             struct rapahub_guest_id guest,
                             const struct rapahub_container_options *options,
                             enum rapahub_begin how)
{
    struct pending *pending;
    int r = check(host, step);

    if (r < 0)
        return r;
    pending = calloc(1, sizeof *pending);
    if (!pending)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the begin of a container");
    pending->on_done = step->on_done;
    pending->user = step->user;
    pending->beginning = (struct host_container_lifecycle_beginning){
        .guest = guest, .options = options, .how = how, .timeout_ns = step->timeout_ns};
    pending->detached = (struct host_detached){.task = &host_container_lifecycle_beginning_task,
                                               .argument = &pending->beginning,
                                               .on_over = on_over};
    r = host_detached_begin_in_turn(HOST_OWNER(host), &pending->detached,
                                    hub_clock_after(HOST_PROCESS(host)->options.call_timeout_ns));
    if (r < 0)
        free(pending);
    return r;
}

int rapahub_host_plug_async(struct rapahub_host *host, const struct rapahub_step *step,
                            bool plugged)
{
    return begin(host, step, (struct host_step){.kind = HOST_STEP_PLUG, .plugged = plugged});
}

int rapahub_host_drain_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    return begin(host, step, (struct host_step){.kind = HOST_STEP_DRAIN});
}

int rapahub_host_remove_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    return begin(host, step, (struct host_step){.kind = HOST_STEP_REMOVE});
}

int rapahub_host_ask_async(struct rapahub_host *host, const struct rapahub_step *step,
                           const struct rapahub_question *question)
{
    static const enum hub_lifecycle_method methods[] = {
        [RAPAHUB_QUESTION_WORK] = HUB_LIFECYCLE_WORK,
        [RAPAHUB_QUESTION_MIGRATE] = HUB_LIFECYCLE_MIGRATE,
        [RAPAHUB_QUESTION_EXPAND] = HUB_LIFECYCLE_EXPAND,
        [RAPAHUB_QUESTION_SCHEDULE_RECOVER] = HUB_LIFECYCLE_RECOVER,
        [RAPAHUB_QUESTION_HEALTH] = HUB_LIFECYCLE_HEALTH,
    };

    if (!question || (unsigned)question->kind > RAPAHUB_QUESTION_HEALTH ||
        question->reserved[0] != 0 || question->reserved[1] != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "this release knows no such question");
    return begin(host, step,
                 (struct host_step){.method = methods[question->kind],
                                    .node = question->node.number,
                                    .lost = {question->lost.pool.major, question->lost.pool.minor,
                                             question->lost.container}});
}

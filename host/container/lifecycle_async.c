/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle_async: the steps of <rapahub/lifecycle.h> whose end a callback reports. Any thread. */
#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "host/call/call.h"
#include "host/container/beginning.h"
#include "host/container/state_step.h"
#include "host/container/step.h"
#include "host/owner/detached.h"
#include "host/owner/forked.h"
#include "hub/base/clock.h"

/* A step moves a state, may move one, or has none to move. */
enum state { NO_STATE, MAYBE_STATE, STATE };

static int check_state(const struct rapahub_pieces *pieces, enum state state)
{
    if (pieces && state == NO_STATE)
        return rapahub_fail(RAPAHUB_EINVAL, "", "this step moves no state");
    if (pieces ? !pieces->piece : state == STATE)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a step that moves a state needs its pieces");
    return 0;
}

static int check(const struct rapahub_host *host, const struct rapahub_step *asked,
                 enum state state)
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
    return check_state(asked->state, state);
}

static struct rapahub_pieces pieces_of(const struct rapahub_step *asked)
{
    return asked->state ? *asked->state : (struct rapahub_pieces){NULL, NULL};
}

/* Begins a task, in the next turn at the latest: it changes no life, so it may begin in a turn. */
static int begin(struct rapahub_host *host, const struct rapahub_step *asked,
                 struct host_detached_plan plan)
{
    plan.on_done = asked->on_done;
    plan.user = asked->user;
    plan.in_turn_until_ns = hub_clock_after(HOST_PROCESS(host)->options.call_timeout_ns);
    return host_detached_make(HOST_OWNER(host), &plan);
}

static const void *number_of(const void *argument)
{
    return &((const struct host_step *)argument)->number;
}

static const void *query_of(const void *argument)
{
    return &((const struct host_step *)argument)->query;
}

static int begin_step(struct rapahub_host *host, const struct rapahub_step *asked,
                      struct host_step step)
{
    bool has_result = step.kind == HOST_STEP_ASK &&
                      hub_lifecycle_table[step.method].types[0]->kind != RAPAHUB_KIND_VOID;
    int r = check(host, asked, NO_STATE);

    if (r < 0)
        return r;
    step.target = asked->target;
    step.timeout_ns = asked->timeout_ns;
    step.token = asked->token;
    return begin(host, asked,
                 (struct host_detached_plan){.task = &host_step_task,
                                             .argument = &step,
                                             .size = sizeof step,
                                             .result = !has_result ? NULL
                                                       : step.method == HUB_LIFECYCLE_ROUTE
                                                           ? query_of
                                                           : number_of});
}

int rapahub_host_begin_async(struct rapahub_host *host, const struct rapahub_step *step,
                             struct rapahub_guest_id guest,
                             const struct rapahub_container_options *options,
                             enum rapahub_begin how)
{
    struct host_beginning beginning = {.guest = guest, .options = options, .how = how};
    int r = check(host, step, MAYBE_STATE);

    if (r == 0 && step->token != 0)
        r = rapahub_fail(RAPAHUB_EINVAL, "",
                         "the options of a container that begins have its token");
    if (r < 0)
        return r;
    beginning.timeout_ns = step->timeout_ns;
    beginning.pieces = pieces_of(step);
    return begin(host, step,
                 (struct host_detached_plan){.task = &host_beginning_task,
                                             .argument = &beginning,
                                             .size = sizeof beginning});
}

/* ---- states ---- */

static const void *whole_of(const void *argument)
{
    return &((const struct host_state_step *)argument)->whole;
}

static int move_state(struct rapahub_host *host, const struct rapahub_step *asked,
                      enum hub_lifecycle_method method)
{
    struct host_state_step step = {.method = method};
    int r = check(host, asked, STATE);

    if (r < 0)
        return r;
    step.target = asked->target;
    step.timeout_ns = asked->timeout_ns;
    step.token = asked->token;
    step.pieces = pieces_of(asked);
    return begin(host, asked,
                 (struct host_detached_plan){
                     .task = &host_state_step_task,
                     .argument = &step,
                     .size = sizeof step,
                     .result = method == HUB_LIFECYCLE_SAVE_CHANGES ? whole_of : NULL});
}

int rapahub_host_save_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    return move_state(host, step, HUB_LIFECYCLE_SAVE);
}

int rapahub_host_save_changes_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    return move_state(host, step, HUB_LIFECYCLE_SAVE_CHANGES);
}

int rapahub_host_load_changes_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    return move_state(host, step, HUB_LIFECYCLE_LOAD_CHANGES);
}

int rapahub_host_go_on(struct rapahub_host *host, void *user)
{
    int r = host_forked_check(HOST_OWNER(host));

    if (r == 0)
        host_changes_tell_of(HOST_OWNER(host), user);
    return r;
}

/* ---- other steps ---- */

int rapahub_host_plug_async(struct rapahub_host *host, const struct rapahub_step *step,
                            bool plugged)
{
    return begin_step(host, step, (struct host_step){.kind = HOST_STEP_PLUG, .plugged = plugged});
}

int rapahub_host_drain_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    return begin_step(host, step, (struct host_step){.kind = HOST_STEP_DRAIN});
}

int rapahub_host_remove_async(struct rapahub_host *host, const struct rapahub_step *step)
{
    return begin_step(host, step, (struct host_step){.kind = HOST_STEP_REMOVE});
}

static int check_question(const struct rapahub_question *question)
{
    bool routes = question && question->kind == RAPAHUB_QUESTION_ROUTE;

    if (!question || (unsigned)question->kind > RAPAHUB_QUESTION_ROUTE ||
        question->reserved[0] != 0 || routes != (question->route != NULL) ||
        (routes && question->route->reserved != 0))
        return rapahub_fail(RAPAHUB_EINVAL, "", "this release knows no such question");
    return 0;
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
        [RAPAHUB_QUESTION_ROUTE] = HUB_LIFECYCLE_ROUTE,
    };
    struct host_step asked;
    int r = check_question(question);

    if (r < 0)
        return r;
    asked = (struct host_step){
        .method = methods[question->kind],
        .node = question->node.number,
        .lost = {question->lost.pool.major, question->lost.pool.minor, question->lost.container}};
    if (question->route)
        asked.route = (struct hub_asked){question->route->method_id, question->route->number,
                                         question->route->node, question->route->containers};
    return begin_step(host, step, asked);
}

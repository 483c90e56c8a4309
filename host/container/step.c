/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/step.h"

#include <errno.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/call/request.h"
#include "host/container/begin.h"
#include "host/owner/detached.h"
#include "host/process/guest.h"
#include "host/roles/links.h"
#include "hub/base/clock.h"

#define AGAIN_LEAST (200 * HUB_MICROSECOND) /* between two looks for what only the guest knows */
#define AGAIN_PART  8 /* the part of the time gone by which a look may come too late */
#define LOOK_LEAST  (100 * HUB_MILLISECOND) /* least time for an answer, however short a drain */

static void go_on(struct host_step *step);

static struct host_registry *registry_of(const struct host_step *step)
{
    return HOST_REGISTRY(step->asked.host);
}

/* Others may await the same end: another drain, or an upgrade that gates the container. */
static void await_no_longer(struct host_step *step)
{
    struct host_container *container = step->asked.container;

    if (step->awaits)
        container->awaiters--;
    step->awaits = false;
    if (container->awaiters == 0 && !container->gated)
        host_containers_await(container, false);
}

static void set_plugged(struct host_step *step, bool plugged)
{
    host_routes_write(&registry_of(step)->routes);
    step->asked.container->plugged = plugged;
    host_containers_settle(step->asked.container, "as asked");
    host_routes_unlock(&registry_of(step)->routes);
    host_routes_announce(&registry_of(step)->routes);
}

/* Whatever a plug fails of, calls go on as before it: nothing else would open the container. */
static void finish(struct host_step *step, int r)
{
    if (r < 0)
        host_verdict_take(&step->verdict, r);
    if (r < 0 && step->closed)
        set_plugged(step, false);
    if (step->asked.container)
        await_no_longer(step);
    host_question_drop(&step->question);
    host_asked_drop(&step->asked);
    host_loop_clear(&step->timer);
    host_changes_forget(&step->listener);
    step->over = true;
    host_loop_wake(&HOST_OWNER(step->asked.host)->loop);
}

/* Looks again after a change, or in a moment: the longer the step lasts, the longer that is. */
static void look_again(struct host_step *step, bool soon)
{
    uint64_t moment = (hub_clock_now() - step->began_ns) / AGAIN_PART;
    uint64_t due = hub_clock_after(moment > AGAIN_LEAST ? moment : AGAIN_LEAST);

    if (!soon || due > step->asked.deadline_ns)
        due = step->asked.deadline_ns;
    host_loop_set(&HOST_OWNER(step->asked.host)->loop, &step->timer, due);
}

static bool is_late(const struct host_step *step)
{
    return hub_clock_left(step->asked.deadline_ns) == 0;
}

/* ---- here, before the question and after the answer ---- */

/* The users that remain are this step, and those that await the same, or this step. */
static bool is_idle(const struct host_step *step)
{
    const struct host_container *container = step->asked.container;

    return host_containers_users(container) == container->awaiters &&
           host_caller_inside_container(&registry_of(step)->callers, container) == 0;
}

static int prepare_drain(struct host_step *step)
{
    struct host_container *container = step->asked.container;
    char id[HOST_CONTAINERS_ID_SIZE];

    if (step->awaits &&
        (container->state == HOST_CONTAINER_DOWN || container->state == HOST_CONTAINER_STARTING))
        return host_life_explain(step->asked.life, RAPAHUB_EDIED,
                                 hub_lifecycle_table[HUB_LIFECYCLE_WORK].name);
    if (container->state != HOST_CONTAINER_PLUGGED && container->state != HOST_CONTAINER_HELD)
        return rapahub_fail(RAPAHUB_ESTATE, "", "container %s is not plugged",
                            host_containers_print(container->id, id));
    if (!step->awaits)
        container->awaiters++;
    step->awaits = true;
    host_containers_await(container, true);
    if (!is_idle(step))
        return -EAGAIN;
    container->sealed = true;
    return 0;
}

/* Returns -EAGAIN if the question cannot be asked yet. A container is closed here before its guest
 * is told, and opened after that: no call arrives while it is plugged there. */
static int prepare(struct host_step *step)
{
    if (step->kind == HOST_STEP_DRAIN)
        return prepare_drain(step);
    if (step->kind == HOST_STEP_PLUG && step->plugged && !step->asked.container->plugged) {
        set_plugged(step, true);
        step->closed = true;
    }
    return 0;
}

static void remove_container(struct host_step *step, struct host_container *container)
{
    host_links_end(container);
    host_routes_write(&registry_of(step)->routes);
    if (container->state != HOST_CONTAINER_GONE)
        host_containers_move(container, HOST_CONTAINER_GONE, "as asked");
    host_containers_remove(&registry_of(step)->containers, container);
    host_routes_unlock(&registry_of(step)->routes);
    host_routes_announce(&registry_of(step)->routes);
    host_loop_wake(&HOST_OWNER(step->asked.host)->loop); /* parked calls look for it again */
}

/* Does what follows from an answer `r`. -EAGAIN: the question is asked again. */
static int settle(struct host_step *step, int r)
{
    if (r == 0 && step->kind == HOST_STEP_PLUG && !step->plugged)
        set_plugged(step, false);
    if (r == 0 && step->kind == HOST_STEP_REMOVE)
        remove_container(step, step->asked.container);
    if (r == 0 && step->kind == HOST_STEP_DRAIN && step->number > 0)
        return -EAGAIN;
    return r;
}

/* ---- the question ---- */

static enum hub_lifecycle_method method_of(const struct host_step *step)
{
    static const enum hub_lifecycle_method methods[] = {[HOST_STEP_PLUG] = HUB_LIFECYCLE_PLUG,
                                                        [HOST_STEP_DRAIN] = HUB_LIFECYCLE_WORK,
                                                        [HOST_STEP_REMOVE] = HUB_LIFECYCLE_FINI};

    return step->kind == HOST_STEP_ASK ? step->method : methods[step->kind];
}

static const void *argument_of(const struct host_step *step, enum hub_lifecycle_method method)
{
    switch (method) {
    case HUB_LIFECYCLE_PLUG:
        return &step->plugged;
    case HUB_LIFECYCLE_MIGRATE:
    case HUB_LIFECYCLE_EXPAND:
        return &step->node;
    case HUB_LIFECYCLE_RECOVER:
        return &step->lost;
    case HUB_LIFECYCLE_ROUTE:
        return &step->route;
    default:
        return NULL;
    }
}

/* r[impl hub.route.asked] */
static int take_query(struct host_step *step, struct hub_answer *answer)
{
    const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[HUB_LIFECYCLE_ROUTE];
    struct hub_routed routed;
    int r = host_request_decode(step->asked.life, answer, entry->name, entry->types[0], &routed);

    if (r < 0)
        return r;
    if (routed.mode > RAPAHUB_QUERY_DYNAMIC)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "hub.route.asked",
                            "the callback `route` of guest %s has returned a mode that no query "
                            "has",
                            step->asked.container->guest->name);
    step->query = (struct rapahub_query){.mode = (enum rapahub_query_mode)routed.mode,
                                         .number = routed.number,
                                         .offset = routed.offset,
                                         .count = routed.count};
    return 0;
}

/* Every other result is nothing, or a number. */
static int take(struct host_step *step, struct hub_answer *answer)
{
    enum hub_lifecycle_method method = method_of(step);
    const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[method];
    uint8_t byte = 0;
    void *to = method == HUB_LIFECYCLE_HEALTH ? (void *)&byte : &step->number;
    int r;

    if (method == HUB_LIFECYCLE_ROUTE)
        return take_query(step, answer);
    r = host_request_decode(step->asked.life, answer, entry->name, entry->types[0], to);

    if (r == 0 && method == HUB_LIFECYCLE_HEALTH)
        step->number = byte;
    return r;
}

static void ends_late(struct host_step *step)
{
    finish(step,
           rapahub_fail(RAPAHUB_ETIMEDOUT, "",
                        !step->asked.container          ? "the guest was not ready in time"
                        : step->kind == HOST_STEP_DRAIN ? "the container still works"
                                                        : "there was no space for a message"));
}

/* It is unknown from now on whether the guest has it, and a thread may have kept a route that names
 * none. */
static void note_unsure(struct host_step *step)
{
    host_routes_write(&registry_of(step)->routes);
    host_begin_unsure(step->asked.life);
    host_routes_unlock(&registry_of(step)->routes);
}

/* The guest may have ended the container already: an earlier removal, whose time was over. */
static int result_of(struct host_step *step, int code, struct hub_answer *answer)
{
    int r = code == 0 ? take(step, answer)
                      : host_life_explain(step->asked.life, code,
                                          hub_lifecycle_table[method_of(step)].name);

    if (code == RAPAHUB_ETIMEDOUT && step->kind == HOST_STEP_REMOVE)
        note_unsure(step);
    if (r != RAPAHUB_EAPPLICATION || step->kind != HOST_STEP_REMOVE ||
        rapahub_last_error()->application != RAPAHUB_ENOENT)
        return r;
    rapahub_clear_error();
    return 0;
}

static void on_answered(void *user, int code, struct hub_answer *answer)
{
    struct host_step *step = user;
    int r = result_of(step, code, answer);

    if (r < 0)
        host_verdict_take(&step->verdict, r);
    r = settle(step, r);
    if (step->verdict.code < 0)
        finish(step, host_verdict_give(&step->verdict));
    else if (r == -EAGAIN && is_late(step))
        ends_late(step);
    else if (r == -EAGAIN)
        look_again(step, true);
    else
        finish(step, r);
}

/* r[impl cluster.step] */
static int send(struct host_step *step)
{
    enum hub_lifecycle_method method = method_of(step);
    uint64_t least = hub_clock_after(LOOK_LEAST), deadline = step->asked.deadline_ns;
    const void *const arguments[] = {&step->asked.container->handle, argument_of(step, method),
                                     NULL};
    const struct host_request_message message = {
        .method = method,
        .arguments = arguments,
        .done = on_answered,
        .user = step,
        .deadline_ns = step->kind == HOST_STEP_DRAIN && deadline < least ? least : deadline};
    int r = host_question_ask(&step->question, step->asked.life, &message);

    return r > 0 ? 0 : r;
}

/* ---- the task ---- */

/* Removes a container that no guest has: its guest has ended for good, or it waits to be begun
 * again. 1: removed. */
static int remove_unowned(struct host_step *step)
{
    struct host_container *container =
        host_containers_find(&registry_of(step)->containers, step->target);

    if (!container ||
        (!host_containers_is_offered(container) && container->state != HOST_CONTAINER_GONE &&
         !host_containers_unbegun(container)))
        return 0;
    if (host_containers_is_offered(container))
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "an offer lasts as long as its host");
    remove_container(step, container);
    return 1;
}

static int find(struct host_step *step)
{
    int r = step->kind == HOST_STEP_REMOVE ? remove_unowned(step) : 0;

    return r != 0 || step->asked.container ? r : host_asked_try(&step->asked, step->target);
}

/* Called after each change, and when the timer is due. */
static void go_on(struct host_step *step)
{
    int r;

    if (step->over || host_question_is_open(&step->question))
        return;
    r = step->asked.container ? 0 : find(step);
    if (r == 0) {
        r = prepare(step);
        if (r == 0)
            r = send(step);
        if (r == 0)
            return;
    }
    if (r == -EAGAIN && is_late(step))
        ends_late(step);
    else if (r == -EAGAIN)
        look_again(step, step->asked.container != NULL);
    else
        finish(step, r < 0 ? r : 0);
}

static void on_event(void *user)
{
    go_on(user);
}

static int begin_task(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    struct host_step *step = argument;
    uint64_t timeout = step->timeout_ns;

    step->asked = (struct host_asked){.host = host, .token = step->token};
    step->asked.deadline_ns =
        hub_clock_after(timeout ? timeout : host->process.options.call_timeout_ns);
    step->began_ns = hub_clock_now();
    step->timer.on = step->listener.on_change = on_event;
    step->timer.user = step->listener.user = step;
    host_changes_listen(&owner->changes, &step->listener);
    go_on(step);
    return 0;
}

static bool is_over(const void *argument)
{
    return ((const struct host_step *)argument)->over;
}

static int end_task(struct host_owner *owner, void *argument)
{
    struct host_step *step = argument;

    (void)owner;
    if (!step->over) /* the host ends */
        finish(step, rapahub_fail(RAPAHUB_ESTALE, "", "the host ends"));
    return host_verdict_give(&step->verdict);
}

const struct host_threads_task host_step_task = {begin_task, is_over, end_task};

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/state_step.h"

#include <errno.h>

#include "host/call/call.h"

static struct host_state_step *step_of(struct host_course *course)
{
    return (struct host_state_step *)(void *)course;
}

static int put(void *user, const void *data, size_t size)
{
    return host_pieces_put(&((struct host_state_step *)user)->callee, data, size);
}

static int get(void *user, void *data, size_t size)
{
    return host_pieces_get(&((struct host_state_step *)user)->callee, data, size);
}

static void on_answer(void *user, int r)
{
    host_course_answered(&((struct host_state_step *)user)->course, r);
}

static bool is_load(const struct host_state_step *step)
{
    return step->method == HUB_LIFECYCLE_LOAD_CHANGES;
}

/* Calls may go on while changes are saved. */
static int check(struct host_state_step *step)
{
    struct host_asked *asked = &step->course.asked;
    int r = step->method == HUB_LIFECYCLE_SAVE_CHANGES ? 0 : host_asked_check_closed(asked);

    return r < 0 ? r : host_asked_claim(asked);
}

static void prepare(struct host_state_step *step)
{
    const struct host_asked *asked = &step->course.asked;

    step->callee = (struct host_pieces){.host = asked->host, .to = step->pieces};
    step->out = (struct host_state_out){.life = asked->life,
                                        .container = asked->container,
                                        .method = step->method,
                                        .deadline_ns = asked->deadline_ns,
                                        .put = put,
                                        .on_answer = on_answer,
                                        .user = step};
    step->in = (struct host_state_in){.life = asked->life,
                                      .container = asked->container,
                                      .method = step->method,
                                      .piece_max = host_state_head_piece(asked->host),
                                      .deadline_ns = asked->deadline_ns,
                                      .get = get,
                                      .on_answer = on_answer,
                                      .user = step};
}

static int find(struct host_state_step *step)
{
    int r;

    step->course.asked.token = step->token;
    r = host_asked_try(&step->course.asked, step->target);
    if (r == 0)
        r = check(step);
    if (r == 0)
        prepare(step);
    return r;
}

/* r[impl cluster.step.state] */
static int run(struct host_course *course)
{
    struct host_state_step *step = step_of(course);
    int r = course->asked.container ? 0 : find(step);

    if (r == 0)
        r = is_load(step) ? host_state_in_go_on(&step->in) : host_state_out_go_on(&step->out);
    return r == HOST_QUESTION_STANDS && host_pieces_may_go_on(&step->callee) ? -EAGAIN : r;
}

/* A step whose container was not found, or not claimed, has nothing to drop. */
static int end(struct host_course *course)
{
    struct host_state_step *step = step_of(course);

    step->whole = !step->out.changes;
    if (course->asked.claimed && is_load(step))
        host_state_in_drop(&step->in);
    else if (course->asked.claimed)
        host_state_out_drop(&step->out);
    host_asked_drop(&course->asked);
    return 0;
}

static const char *late(const struct host_course *course)
{
    const struct host_state_step *step = (const struct host_state_step *)(const void *)course;

    if (!course->asked.container)
        return "the guest was not ready in time";
    return step->callee.stands ? "the pieces of the state stood still until the time was over"
                               : "there was no space for a message";
}

static int begin_task(struct host_owner *owner, void *argument)
{
    static const struct host_course_kind kind = {run, end, late};
    struct host_state_step *step = argument;

    host_course_open(&step->course, &kind, HOST_CALL(owner), step->timeout_ns);
    host_course_begin(&step->course);
    return 0;
}

const struct host_threads_task host_state_step_task = {begin_task, host_course_is_over,
                                                       host_course_end};

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/course.h"

#include <errno.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/process/guest.h"
#include "hub/base/clock.h"

#define AGAIN_LEAST (200 * HUB_MICROSECOND) /* between two looks for space */
#define AGAIN_PART  8 /* the part of the time gone by which a look may come too late */

static void go_on(struct host_course *course);

static void note(struct host_course *course, int r)
{
    if (r < 0 && course->verdict.code == 0)
        host_verdict_take(&course->verdict, r);
}

static void finish(struct host_course *course, int r)
{
    note(course, r);
    r = course->kind->end(course);
    if (r > 0) {
        go_on(course);
        return;
    }
    note(course, r);
    host_loop_clear(&course->timer);
    host_changes_forget(&course->listener);
    course->over = true;
    host_loop_wake(&HOST_OWNER(course->asked.host)->loop);
}

/* Its life serves no more, or not for long. */
static bool is_lost(const struct host_life *life)
{
    const struct host_guest *guest = life->guest;

    return !guest || guest->life != life || !host_guest_is_up(guest) ||
           hub_link_closed(life->connection.link);
}

static void look_again(struct host_course *course, int r)
{
    uint64_t moment = (hub_clock_now() - course->began_ns) / AGAIN_PART;
    uint64_t due = hub_clock_after(moment > AGAIN_LEAST ? moment : AGAIN_LEAST);

    if (r != -EAGAIN || !course->asked.life || due > course->asked.deadline_ns)
        due = course->asked.deadline_ns;
    host_loop_set(&HOST_OWNER(course->asked.host)->loop, &course->timer, due);
}

/* It cannot go on now. A question that is open ends by itself, at the same deadline, and with the
 * guest. */
static void rest(struct host_course *course, int r)
{
    struct host_life *life = course->asked.life;

    if (r == HOST_QUESTION_WAITS)
        host_loop_clear(&course->timer);
    else if (life && is_lost(life))
        finish(course, host_life_explain(life, RAPAHUB_EDIED, "a step of a container"));
    else if (hub_clock_left(course->asked.deadline_ns) == 0)
        finish(course, rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s", course->kind->late(course)));
    else
        look_again(course, r);
}

/* Called after each change, after each answer, and when the timer is due. */
static void go_on(struct host_course *course)
{
    int r;

    if (course->over || course->running)
        return;
    course->running = true;
    r = course->kind->run(course);
    course->running = false;
    if (r > 0 || r == -EAGAIN)
        rest(course, r);
    else
        finish(course, r);
}

static void on_event(void *user)
{
    go_on(user);
}

void host_course_open(struct host_course *course, const struct host_course_kind *kind,
                      struct host_call *host, uint64_t timeout_ns)
{
    course->kind = kind;
    course->asked.host = host;
    course->asked.deadline_ns =
        hub_clock_after(timeout_ns ? timeout_ns : host->process.options.call_timeout_ns);
    course->began_ns = hub_clock_now();
    course->timer.on = course->listener.on_change = on_event;
    course->timer.user = course->listener.user = course;
}

/* r[impl cluster.step] */
void host_course_begin(struct host_course *course)
{
    host_changes_listen(&HOST_OWNER(course->asked.host)->changes, &course->listener);
    go_on(course);
}

void host_course_answered(struct host_course *course, int r)
{
    if (r < 0)
        finish(course, r);
    else
        go_on(course);
}

bool host_course_is_over(const void *argument)
{
    return ((const struct host_course *)argument)->over;
}

/* With its host it ends at once, and then a second time if its end takes messages. */
int host_course_end(struct host_owner *owner, void *argument)
{
    struct host_course *course = argument;

    (void)owner;
    while (!course->over)
        finish(course, rapahub_fail(RAPAHUB_ESTALE, "", "the host ends"));
    return host_verdict_give(&course->verdict);
}

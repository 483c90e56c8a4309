/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/beginning.h"

#include <errno.h>

#include "host/call/call.h"
#include "host/container/begin.h"
#include "hub/base/clock.h"

#define FINI_MOST HUB_SECOND /* for the end of a container that could not begin */

static struct host_beginning *beginning_of(struct host_course *course)
{
    return (struct host_beginning *)(void *)course;
}

/* ---- its state ---- */

static int get(void *user, void *data, size_t size)
{
    return host_pieces_get(&((struct host_beginning *)user)->callee, data, size);
}

static void on_answer(void *user, int r)
{
    host_course_answered(&((struct host_beginning *)user)->course, r);
}

static void prepare(struct host_beginning *beginning)
{
    const struct host_asked *asked = &beginning->course.asked;

    beginning->callee = (struct host_pieces){.host = asked->host, .to = beginning->pieces};
    beginning->in = (struct host_state_in){.life = asked->life,
                                           .container = asked->container,
                                           .method = HUB_LIFECYCLE_LOAD,
                                           .piece_max = host_state_head_piece(asked->host),
                                           .deadline_ns = asked->deadline_ns,
                                           .get = get,
                                           .on_answer = on_answer,
                                           .user = beginning};
}

/* r[impl cluster.step.state] */
static int take_state(struct host_beginning *beginning)
{
    int r = host_state_in_go_on(&beginning->in);

    if (r == 0)
        beginning->phase = HOST_BEGINNING_OPEN;
    return r == HOST_QUESTION_STANDS && host_pieces_may_go_on(&beginning->callee) ? -EAGAIN : r;
}

/* ---- messages ---- */

static int send(struct host_beginning *beginning, enum hub_lifecycle_method method,
                const void *const *arguments, hub_calls_done *done)
{
    const struct host_asked *asked = &beginning->course.asked;
    const struct host_request_message message = {method, arguments, done, beginning,
                                                 asked->deadline_ns};

    return host_question_ask(&beginning->question, asked->life, &message);
}

static void on_begun(void *user, int code, struct hub_answer *answer)
{
    struct host_beginning *beginning = user;
    struct host_life *life = beginning->course.asked.life;
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_BEGIN].name;
    int r = code < 0 ? host_life_explain(life, code, name)
                     : host_request_decode(life, answer, name, &rapahub_type_void, NULL);

    if (r == 0)
        beginning->phase = beginning->pieces.piece ? HOST_BEGINNING_STATE : HOST_BEGINNING_OPEN;
    else if (code == 0) {
        beginning->phase = HOST_BEGINNING_ASK; /* its guest does not have it */
        host_begin_sure(life);
    }
    host_course_answered(&beginning->course, r);
}

/* ---- its roles ---- */

/* A guest that has some of them, and cannot have this one, closes them. */
static void on_built(void *user, int code, struct hub_answer *answer)
{
    struct host_beginning *beginning = user;
    const struct host_asked *asked = &beginning->course.asked;
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_ROLE].name;
    int r = code < 0
                ? host_life_explain(asked->life, code, name)
                : host_begin_take_role(asked->life, asked->container, beginning->roles, answer);

    beginning->granted = code < 0;
    beginning->roles += r == 0;
    host_course_answered(&beginning->course, r);
}

/* Sends the next role; 0: there are no more. */
static int ask_role(struct host_beginning *beginning)
{
    const struct host_asked *asked = &beginning->course.asked;

    if (!beginning->granted &&
        !host_begin_role(asked->life, asked->container, beginning->roles, &beginning->role))
        return 0;
    beginning->granted = beginning->role.r == 0;
    return beginning->granted
               ? send(beginning, HUB_LIFECYCLE_ROLE, beginning->role.arguments, on_built)
               : beginning->role.r;
}

static void on_opened(void *user, int code, struct hub_answer *answer)
{
    struct host_beginning *beginning = user;
    struct host_life *life = beginning->course.asked.life;
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_ROLES].name;
    int r = code < 0 ? host_life_explain(life, code, name)
                     : host_request_decode(life, answer, name, &rapahub_type_void, NULL);

    if (r == 0)
        beginning->phase = HOST_BEGINNING_SHOW;
    host_course_answered(&beginning->course, r);
}

/* It is not shown before its guest has opened its roles: a container whose messages would pile up
 * does not begin. r[impl supervise.role.ready] */
static int open_roles(struct host_beginning *beginning)
{
    const struct host_container *container = beginning->course.asked.container;
    const uint8_t what = HUB_ROLES_OPEN;
    const void *const arguments[] = {&container->handle, &what, NULL};

    if (container->roles)
        return send(beginning, HUB_LIFECYCLE_ROLES, arguments, on_opened);
    beginning->phase = HOST_BEGINNING_SHOW;
    return 0;
}

static int ask(struct host_beginning *beginning)
{
    const struct host_container *container = beginning->course.asked.container;
    struct hub_begin begin;
    const void *const arguments[] = {&begin, &container->token, NULL};
    enum hub_lifecycle_method method =
        host_containers_describe(container, container->token, &begin);
    int r = ask_role(beginning);

    if (r != 0)
        return r;
    begin.how = (uint8_t)beginning->how;
    begin.load_follows = beginning->pieces.piece != NULL;
    r = send(beginning, method, arguments, on_begun);
    if (r == HOST_QUESTION_WAITS) {
        beginning->phase = HOST_BEGINNING_ASKED;
        host_begin_unsure(beginning->course.asked.life);
    }
    return r;
}

/* The answer changes nothing: the guest may have ended the container already. */
static void on_ended(void *user, int code, struct hub_answer *answer)
{
    struct host_beginning *beginning = user;

    struct host_life *life = beginning->course.asked.life;

    beginning->phase = HOST_BEGINNING_OVER;
    if (host_begin_answers_end(life, code, answer))
        host_begin_sure(life);
    else if (code == RAPAHUB_ETIMEDOUT) /* its guest drops the message if it has not run yet */
        (void)host_begin_take_back(life, beginning->course.asked.container->handle);
    host_course_answered(&beginning->course, 0);
}

static int end_in_guest(struct host_beginning *beginning)
{
    const void *const arguments[] = {&beginning->course.asked.container->handle, NULL};

    return send(beginning, HUB_LIFECYCLE_FINI, arguments, on_ended);
}

static int take_back(struct host_beginning *beginning)
{
    const struct host_asked *asked = &beginning->course.asked;
    int r = beginning->granted ? host_begin_name_role(asked->life, &beginning->role) : 0;

    if (r == 0) {
        beginning->granted = false;
        r = host_begin_take_back(asked->life, asked->container->handle);
    }
    if (r == 0)
        beginning->phase = HOST_BEGINNING_OVER;
    return r == -EBUSY ? -EAGAIN : r;
}

/* ---- the course ---- */

static int show(struct host_beginning *beginning)
{
    const struct host_asked *asked = &beginning->course.asked;
    int r = host_begin_show(asked->host, asked->life, asked->container);

    if (r == 0)
        host_begin_sure(asked->life);
    return r;
}

static int run(struct host_course *course)
{
    static int (*const phases[])(struct host_beginning *) = {
        [HOST_BEGINNING_ASK] = ask,
        [HOST_BEGINNING_SHOW] = show,
        [HOST_BEGINNING_FINI] = end_in_guest,
        [HOST_BEGINNING_BACK] = take_back,
    };
    struct host_beginning *beginning = beginning_of(course);
    int r = 0;

    if (host_question_is_open(&beginning->question))
        return HOST_QUESTION_WAITS;
    if (beginning->phase == HOST_BEGINNING_STATE)
        r = take_state(beginning);
    if (r == 0 && beginning->phase == HOST_BEGINNING_OPEN)
        r = open_roles(beginning);
    if (r == 0 && beginning->phase != HOST_BEGINNING_OVER)
        r = phases[beginning->phase](beginning);
    return r;
}

/* It did not come to its begin, and the guest has roles for it, which are to be closed. */
static bool has_roles_only(const struct host_beginning *beginning)
{
    return beginning->phase == HOST_BEGINNING_ASK && (beginning->roles > 0 || beginning->granted);
}

static bool may_be_in_guest(const struct host_beginning *beginning)
{
    return ((beginning->phase >= HOST_BEGINNING_ASKED && beginning->phase <= HOST_BEGINNING_SHOW) ||
            has_roles_only(beginning)) &&
           !hub_link_closed(beginning->course.asked.life->connection.link);
}

/* A step whose time is over, or whose begin has no answer, does not wait for its guest, but for
 * space at most: the guest gets the message when it goes on. */
static bool ends_first(struct host_beginning *beginning)
{
    struct host_asked *asked = &beginning->course.asked;
    uint64_t most = hub_clock_after(FINI_MOST);
    bool is_late =
        beginning->phase <= HOST_BEGINNING_ASKED || hub_clock_left(asked->deadline_ns) == 0;

    if (!may_be_in_guest(beginning))
        return false;
    if (has_roles_only(beginning))
        host_begin_unsure(asked->life);
    beginning->phase = is_late ? HOST_BEGINNING_BACK : HOST_BEGINNING_FINI;
    if (is_late && take_back(beginning) == 0)
        return false;
    if (is_late || asked->deadline_ns > most)
        asked->deadline_ns = most;
    return true;
}

static int end(struct host_course *course)
{
    struct host_beginning *beginning = beginning_of(course);
    struct host_asked *asked = &course->asked;

    host_question_drop(&beginning->question);
    host_state_in_drop(&beginning->in);
    if (course->verdict.code < 0) {
        if (ends_first(beginning))
            return HOST_QUESTION_WAITS;
        host_begin_withdraw(asked->host, asked->container);
    }
    host_asked_drop(asked);
    return 0;
}

static const char *late(const struct host_course *course)
{
    const struct host_beginning *beginning = (const struct host_beginning *)(const void *)course;

    return beginning->callee.stands ? "the pieces of the state stood still until the time was over"
                                    : "there was no space for a message";
}

static int begin_task(struct host_owner *owner, void *argument)
{
    static const struct host_course_kind kind = {run, end, late};
    struct host_beginning *beginning = argument;
    struct host_call *host = HOST_CALL(owner);
    struct host_asked *asked = &beginning->course.asked;
    int r = host_begin_check(beginning->options, beginning->how);

    host_course_open(&beginning->course, &kind, host, beginning->timeout_ns);
    if (r == 0)
        r = host_begin_find(host, beginning->guest, &asked->life);
    if (r < 0)
        return r;
    r = host_begin_enter(host, beginning->options, asked->life->guest, &asked->container);
    if (r < 0) {
        host_life_drop(asked->life);
        return r;
    }
    hub_add(&asked->container->users, 1); /* another one may remove it if its guest ends for good */
    prepare(beginning);
    host_course_begin(&beginning->course);
    return 0;
}

const struct host_threads_task host_beginning_task = {begin_task, host_course_is_over,
                                                      host_course_end};

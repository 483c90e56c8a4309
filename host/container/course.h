/* SPDX-License-Identifier: Apache-2.0 */
/* course: what the steps of a container's life have in common that no turn waits for and that take
 * several messages: they go on after an answer, after a change and at a time; they end at their
 * deadline, and when their guest is lost. Owner. */
#ifndef HOST_CONTAINER_COURSE_H
#define HOST_CONTAINER_COURSE_H

#include "host/container/asked.h"
#include "host/container/question.h"
#include "host/owner/changes.h"
#include "host/owner/loop.h"
#include "host/owner/threads.h"
#include "host/owner/verdict.h"

struct host_course;

/* Constant, one for each kind of step. */
struct host_course_kind {
    /* Does what can be done now. 0: the step is done; HOST_QUESTION_WAITS, HOST_QUESTION_STANDS,
     * -EAGAIN: see question.h, and its guest is not ready; else the failure. It may take turns. */
    int (*run)(struct host_course *course);
    /* The step is done, or has failed (course->verdict): lets go of all that it has. Returns
     * HOST_QUESTION_WAITS if `run` is to go on with the end first, at most once; or a failure. */
    int (*end)(struct host_course *course);
    const char *(*late)(const struct host_course *course); /* words for what it still lacked */
};

/* The first member of the argument of a task, zeroed; it must stay where it is. */
struct host_course {
    const struct host_course_kind *kind;
    struct host_asked asked; /* `container` and `life` are found, and dropped, by the kind */
    uint64_t began_ns;
    struct host_timer timer;
    struct host_listener listener;
    struct host_verdict verdict;
    bool running; /* a callback of the embedder may take turns */
    bool over;
};

/* Sets its deadline; 0: the time that the host gives to calls. The second function begins it. */
void host_course_open(struct host_course *course, const struct host_course_kind *kind,
                      struct host_call *host, uint64_t timeout_ns);
void host_course_begin(struct host_course *course);

/* After the answer to a question; r < 0: the failure, with its diagnosis. */
void host_course_answered(struct host_course *course, int r);

/* Two functions of a task. */
bool host_course_is_over(const void *argument);
int host_course_end(struct host_owner *owner, void *argument);

#endif

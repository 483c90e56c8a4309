/* SPDX-License-Identifier: Apache-2.0 */
/* question: a lifecycle message whose answer a step of a container's life goes on with. A step may
 * end before the answer comes: the message has memory of its own, and is ignored then. Owner. */
#ifndef HOST_CONTAINER_QUESTION_H
#define HOST_CONTAINER_QUESTION_H

#include <stdbool.h>

#include "host/call/request.h"

/* The results of functions that go on with a transfer, beside 0 (it is over) and failures. -EAGAIN:
 * there is no space for a message, so they are to be called again in a moment. */
enum host_question_pause {
    HOST_QUESTION_WAITS = 1, /* for the answer to a question */
    HOST_QUESTION_STANDS     /* for the other end, which gets the bytes or gives them */
};

struct host_question_memory;

struct host_question {
    struct host_question_memory *memory; /* NULL: nothing is asked, or it is answered */
};

/* Sends the message. HOST_QUESTION_WAITS: its `done` runs once, with its `user`, unless the
 * question is dropped before. -EAGAIN: there is no space now, or too many calls are open. */
int host_question_ask(struct host_question *question, struct host_life *life,
                      const struct host_request_message *message);

static inline bool host_question_is_open(const struct host_question *question)
{
    return question->memory != NULL;
}

/* The answer will be ignored. Harmless if nothing is asked. */
void host_question_drop(struct host_question *question);

#endif

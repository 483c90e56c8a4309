/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/question.h"

#include <errno.h>
#include <stdlib.h>

#include <rapahub/error.h>

/* Lasts until the message is answered. */
struct host_question_memory {
    struct host_question *question; /* NULL: dropped */
    hub_calls_done *done;
    void *user;
};

static void on_answered(void *user, int code, struct hub_answer *answer)
{
    struct host_question_memory *memory = user;

    if (memory->question) {
        memory->question->memory = NULL;
        memory->done(memory->user, code, answer);
    }
    free(memory);
}

int host_question_ask(struct host_question *question, struct host_life *life,
                      const struct host_request_message *message)
{
    struct host_question_memory *memory = malloc(sizeof *memory);
    struct host_request_message sent = *message;
    int r;

    if (!memory)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a message");
    *memory = (struct host_question_memory){question, message->done, message->user};
    sent.done = on_answered;
    sent.user = memory;
    r = host_request_send(life, &sent);
    if (r < 0) {
        free(memory);
        return r == -EBUSY ? -EAGAIN : r;
    }
    question->memory = memory;
    return HOST_QUESTION_WAITS;
}

void host_question_drop(struct host_question *question)
{
    if (question->memory)
        question->memory->question = NULL;
    question->memory = NULL;
}

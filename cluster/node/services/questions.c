/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/questions.h"

#include <stdlib.h>

#include <rapahub/error.h>

struct cluster_asking_question *cluster_questions_new(struct cluster_asking *asking,
                                                      const struct cluster_asker *asker)
{
    struct cluster_asking_question *question = calloc(1, sizeof *question);

    if (question)
        *question = (struct cluster_asking_question){.asking = asking, .asker = asker->number};
    else
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a question");
    return question;
}

struct cluster_asker *cluster_questions_asker(const struct cluster_asking_question *question)
{
    return cluster_askers_find(question->asking->askers, question->asker);
}

void cluster_questions_drop(struct cluster_asking_question *question)
{
    if (question->pushes)
        question->asking->pushes--;
    free(question);
}

void cluster_questions_fail(struct cluster_asking_question *question, int status, const char *text)
{
    struct cluster_asker *asker = cluster_questions_asker(question);

    if (asker)
        cluster_askers_fail(question->asking->askers, asker, status, text);
    cluster_questions_drop(question);
}

void cluster_questions_fail_as_said(struct cluster_asking_question *question)
{
    cluster_questions_fail(question, rapahub_last_error()->code, rapahub_last_error()->text);
}

void cluster_questions_fail_store(struct cluster_asking_question *question, int status)
{
    if (status == CLUSTER_TXN_NO_SPACE)
        cluster_questions_fail(question, RAPAHUB_ENOSPC, "the metastore is full; nothing was done");
    else if (status == CLUSTER_TXN_NOT_APPLIED)
        cluster_questions_fail(question, RAPAHUB_EAGAIN,
                               "the metastore does not answer; nothing was done");
    else if (status == CLUSTER_TXN_CLOSED)
        cluster_questions_fail(question, RAPAHUB_ECLOSED, "the node stops");
    else
        cluster_questions_fail(question, RAPAHUB_EIO, "the metastore cannot be used");
}

void cluster_questions_done(struct cluster_asking_question *question)
{
    struct cluster_asker *asker = cluster_questions_asker(question);

    if (asker)
        cluster_askers_answer(question->asking->askers, asker, (struct rapahub_bytes){NULL, 0});
    cluster_questions_drop(question);
}

void cluster_questions_flag(struct cluster_asking_question *question, bool flag)
{
    struct cluster_asker *asker = cluster_questions_asker(question);

    if (asker)
        cluster_askers_answer_flag(question->asking->askers, asker, flag);
    cluster_questions_drop(question);
}

void cluster_questions_text(struct cluster_asking_question *question, char *text)
{
    struct cluster_asker *asker = cluster_questions_asker(question);

    if (!text) {
        cluster_questions_fail_as_said(question);
        return;
    }
    if (asker)
        cluster_askers_answer_text(question->asking->askers, asker, text);
    cluster_questions_drop(question);
    free(text);
}

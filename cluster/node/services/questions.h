/* SPDX-License-Identifier: Apache-2.0 */
/* questions: a question that waits for a part of the node, from the moment it is handed in until it
 * is answered. Its asker may go meanwhile. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_QUESTIONS_H
#define CLUSTER_NODE_SERVICES_QUESTIONS_H

#include "cluster/node/services/asking.h"

/* Makes one, to be freed by its end. NULL with a diagnosis: no memory. */
struct cluster_asking_question *cluster_questions_new(struct cluster_asking *asking,
                                                      const struct cluster_asker *asker);

/* Returns its asker, or NULL: that waits no more. */
struct cluster_asker *cluster_questions_asker(const struct cluster_asking_question *question);

/* End it, and free it: with a failure, or that of the thread's diagnosis; with what a transaction
 * that failed says; with nothing, a flag, or a text, which is freed and may be NULL with a
 * diagnosis.
 */
void cluster_questions_drop(struct cluster_asking_question *question);
void cluster_questions_fail(struct cluster_asking_question *question, int status, const char *text);
void cluster_questions_fail_as_said(struct cluster_asking_question *question);
void cluster_questions_fail_store(struct cluster_asking_question *question, int status);
void cluster_questions_done(struct cluster_asking_question *question);
void cluster_questions_flag(struct cluster_asking_question *question, bool flag);
void cluster_questions_text(struct cluster_asking_question *question, char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pending: what was asked of the outside and has not been answered. Each question has an id,
 * which 2^32 questions after it do not have, and gets one answer; any other answer is refused.
 */
#ifndef CLUSTER_CORE_BASE_PENDING_H
#define CLUSTER_CORE_BASE_PENDING_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_pending;

struct cluster_pending_question {
    uint32_t kind;    /* the kind of the effect that asks */
    uint64_t subject; /* the asker's */
};

/* Makes a table of at most `max` questions. -ENOMEM. */
int cluster_pending_create(uint32_t max, struct cluster_pending **out);
void cluster_pending_release(struct cluster_pending **pending);

/* Adds a question and returns its id; 0: too many are open. */
uint64_t cluster_pending_add(struct cluster_pending *pending,
                             const struct cluster_pending_question *question);

/* Ends the question that the answer with this id belongs to. False: there is no such question of
 * this kind, and nothing is done. */
bool cluster_pending_end(struct cluster_pending *pending, uint64_t id, uint32_t kind,
                         uint64_t *subject);

/* Finds the question with this id, which stays open. False: there is no such question of this kind.
 */
bool cluster_pending_find(const struct cluster_pending *pending, uint64_t id, uint32_t kind,
                          uint64_t *subject);

/* Return how many questions are open, and how many more may be. */
uint32_t cluster_pending_count(const struct cluster_pending *pending);
uint32_t cluster_pending_space(const struct cluster_pending *pending);

#endif

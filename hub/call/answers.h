/* SPDX-License-Identifier: Apache-2.0 */
/* answers: Responses as the link hands them up: to the call they belong to, or to nobody. Under the
 * receive token. */
#ifndef HUB_CALL_ANSWERS_H
#define HUB_CALL_ANSWERS_H

#include "hub/call/calls.h"

/* A small answer, whole; false where it has to go the long way, for its call wants more than bytes,
 * or nobody waits for it. */
bool hub_answers_take(struct hub_calls *calls, uint32_t id, const void *payload, uint32_t size);

/* The same for several, all of Responses, under one lock: how many of the first of them. */
uint32_t hub_answers_take_line(struct hub_calls *calls, const struct hub_descriptor *list,
                               uint32_t count);

/* Where the payload of the Response goes; NULL where nobody waits for it. Then accept or drop. */
void *hub_answers_place(struct hub_calls *calls, uint32_t id, uint32_t size, uint32_t phase);
void hub_answers_accept(struct hub_calls *calls, uint32_t id, const void *payload, uint32_t size);
void hub_answers_drop(struct hub_calls *calls, uint32_t id);

/* The receive token is free: another waiting caller may lead. */
void hub_answers_hand_over(struct hub_calls *calls);

/* May the answer be shown where it lies? And then it is. */
bool hub_answers_want_view(struct hub_calls *calls, uint32_t id);
void hub_answers_view(struct hub_calls *calls, uint32_t id, struct hub_view *view);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* responses: passes Responses from the link to the calls they belong to; unrequested ones are
 * dropped. Under the receive token. */
#ifndef HUB_CALL_RESPONSES_H
#define HUB_CALL_RESPONSES_H

#include "hub/call/calls.h"

/* Accepts a small answer as a whole; false if it has to go the long way, because its call wants
 * more than bytes, or has no waiting caller. */
bool hub_responses_take(struct hub_calls *calls, uint32_t id, const void *payload, uint32_t size);

/* The same for several Responses, under one lock: returns how many of the first were accepted. */
uint32_t hub_responses_take_line(struct hub_calls *calls, const struct hub_descriptor *list,
                                 uint32_t count);

/* Returns memory for the payload of the Response; NULL if no caller waits for it. Accept or drop
 * follows. */
void *hub_responses_place(struct hub_calls *calls, uint32_t id, uint32_t size, uint32_t phase);
void hub_responses_accept(struct hub_calls *calls, uint32_t id, const void *payload, uint32_t size);
void hub_responses_drop(struct hub_calls *calls, uint32_t id);

/* The receive token is free: another waiting caller may lead. */
void hub_responses_hand_over(struct hub_calls *calls);

/* hub_responses_want_view says whether the answer may be shown in place, and hub_responses_view
 * receives it so. */
bool hub_responses_want_view(struct hub_calls *calls, uint32_t id);
void hub_responses_view(struct hub_calls *calls, uint32_t id, struct hub_view *view);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* direct_slot_serve: the part of direct_serve for payloads in slots: a request that came in one,
 * shown in place or copied, and a Response that goes through one. */
#ifndef HUB_CALL_DIRECT_SLOT_SERVE_H
#define HUB_CALL_DIRECT_SLOT_SERVE_H

#include "hub/call/inbound_calls.h"

/* Receives the next request, which hub_direct_look has left in direct_message, if it needs neither
 * streams nor more memory than there is: it becomes the direct request. Under the token, while no
 * request is open. */
bool hub_direct_slot_serve_take(struct hub_inbound_calls *served, uint32_t head);

/* Answers the direct request, whose mark is 0, with a result that is not inline: false, and nothing
 * was sent, if that is not possible at once. */
bool hub_direct_slot_serve_answer(struct hub_inbound_calls *served,
                                  const struct hub_response *response,
                                  const struct hub_parts *body);

/* The request has been answered: returns its slot, if it was shown. */
void hub_direct_slot_serve_end(struct hub_inbound_calls *served);

#endif

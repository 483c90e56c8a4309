/* SPDX-License-Identifier: Apache-2.0 */
/* direct_slot_serve: the part of direct_serve that is for payloads in slots: a request that came in
 * one, shown where it lies or copied, and a Response that goes through one. */
#ifndef HUB_CALL_DIRECT_SLOT_SERVE_H
#define HUB_CALL_DIRECT_SLOT_SERVE_H

#include "hub/call/served.h"

/* Takes the next request, which hub_direct_look has left in direct_message, where it needs neither
 * streams nor more memory than is kept: it is the direct one then. Under the token, no request is
 * open. */
bool hub_direct_slot_serve_take(struct hub_served *served, uint32_t head);

/* Answers the direct one, whose mark is 0, with a result that is not inline: false, and nothing was
 * sent, where that does not go at once. */
bool hub_direct_slot_serve_answer(struct hub_served *served, const struct hub_response *response,
                                  const struct hub_parts *body);

/* The same for bytes that lie in a loan, whose mark is not 0 yet: false, with the mark 0, as above.
 */
bool hub_direct_slot_serve_lent(struct hub_served *served, struct rapahub_bytes bytes,
                                struct hub_loan *loan);

/* It has been answered: its slot is given back, if it was shown there. */
void hub_direct_slot_serve_end(struct hub_served *served);

#endif

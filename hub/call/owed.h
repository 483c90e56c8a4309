/* SPDX-License-Identifier: Apache-2.0 */
/* owed: Responses on their way: sent at once, or kept until the peer has space; and the answers to
 * what was refused or cancelled before it ran. */
#ifndef HUB_CALL_OWED_H
#define HUB_CALL_OWED_H

#include "hub/call/served.h"

/* Sends the Response `id`: what is too large is answered so, what finds no space is kept, and what
 * must not be lost for lack of space ends the link. */
int hub_owed_send(struct hub_served *served, uint32_t id, const struct hub_response *response,
                  const struct hub_parts *body);

/* Is there something for settle to send? While there is, call it now and then. Any thread. */
bool hub_owed_any(struct hub_served *served);

/* Sends the answers to what was refused or cancelled in the queue; call after each sweep. */
void hub_owed_settle(struct hub_served *served);

/* Nobody is there to take them. */
void hub_owed_drop(struct hub_served *served);

#endif

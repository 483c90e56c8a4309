/* SPDX-License-Identifier: Apache-2.0 */
/* owed: Responses on their way: sent at once, or stored until the peer has space; and the answers
 * to requests that were refused or cancelled before they ran. */
#ifndef HUB_CALL_OWED_H
#define HUB_CALL_OWED_H

#include "hub/call/served.h"

/* Sends the Response `id`: one that is too large is answered so, one that finds no space is stored,
 * and one that must not be lost for lack of space ends the link. */
int hub_owed_send(struct hub_served *served, uint32_t id, const struct hub_response *response,
                  const struct hub_parts *body);

/* Says whether settle has something to send. While it has, call settle now and then. Any thread. */
bool hub_owed_any(struct hub_served *served);

/* Sends the answers to requests that were refused or cancelled in the queue; call after each
 * sweep. */
void hub_owed_settle(struct hub_served *served);

/* The peer is gone: drops all answers. */
void hub_owed_drop(struct hub_served *served);

#endif

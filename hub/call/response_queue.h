/* SPDX-License-Identifier: Apache-2.0 */
/* response_queue: Responses on their way: sent at once, or stored until the peer has space; and the
 * answers to requests that were refused or cancelled before they ran. */
#ifndef HUB_CALL_RESPONSE_QUEUE_H
#define HUB_CALL_RESPONSE_QUEUE_H

#include "hub/call/inbound_calls.h"

/* Sends the Response `id`: one that is too large is answered so, one that finds no space is stored,
 * and one that must not be lost for lack of space ends the link. */
int hub_response_queue_send(struct hub_inbound_calls *served, uint32_t id,
                            const struct hub_response *response, const struct hub_parts *body);

/* Says whether settle has something to send. While it has, call settle now and then. Any thread. */
bool hub_response_queue_any(struct hub_inbound_calls *served);

/* Sends the answers to requests that were refused or cancelled in the queue; call after each
 * sweep. */
void hub_response_queue_settle(struct hub_inbound_calls *served);

/* The peer is gone: drops all answers. */
void hub_response_queue_drop(struct hub_inbound_calls *served);

#endif

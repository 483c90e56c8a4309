/* SPDX-License-Identifier: Apache-2.0 */
/* direct: what both ends of a small call do where nothing else is in the way: no message is held
 * back, waited for or left over, nobody else receives, and the peer is awake on another CPU. Then a
 * Request, or a Response, of one descriptor is sent and received without the queues and batches
 * that are there for all the others. Where any of this is not so these refuse before they have done
 * anything, and the caller goes the ordinary way. */
#ifndef HUB_LINK_DIRECT_H
#define HUB_LINK_DIRECT_H

#include "hub/link/link.h"
#include "hub/shm/layout.h"

/* Takes the receive token where there is nothing older to receive. The end gives it back: as
 * hub_receiver_let_go, for a side that looks again soon by itself. */
bool hub_direct_begin(struct hub_link *link);
void hub_direct_end(struct hub_link *link, bool looks_soon);

/* Sends the message, whose type, id, method and inline payload are set, the rest 0. Under the lock
 * of senders; then hub_link_wake_receiver. r[impl shm.payload.inline] */
bool hub_direct_send(struct hub_link *link, struct hub_descriptor *message);

/* Looks a few times for a next message. True where it is one of this `type`, as it should be, with
 * its payload inline: a private copy is in `to`, and it is not taken yet. *head is for
 * hub_direct_take. Under the token. */
bool hub_direct_look(struct hub_link *link, enum hub_message_type type, struct hub_descriptor *to,
                     uint32_t *head);
void hub_direct_take(struct hub_link *link, const struct hub_descriptor *message, uint32_t head);

#endif

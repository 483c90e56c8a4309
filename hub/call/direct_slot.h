/* SPDX-License-Identifier: Apache-2.0 */
/* direct_slot: the same steps for a message that hub_direct_look leaves in place because its
 * payload is in a slot. Faults of its descriptor are left for the ordinary way to judge; faults of
 * the slot end the link, as there. Under the token. */
#ifndef HUB_CALL_DIRECT_SLOT_H
#define HUB_CALL_DIRECT_SLOT_H

#include "hub/link/link.h"
#include "hub/link/view.h"
#include "hub/shm/layout.h"

/* Says whether the refused message that hub_direct_look left in `message` is of this `type`, in a
 * slot, with a well-formed descriptor. It is not consumed yet. */
bool hub_direct_slot_look(const struct hub_link *link, enum hub_message_type type,
                          const struct hub_descriptor *message);

/* Sends a message whose payload is in a loan, which is consumed. False if anything interferes:
 * nothing was sent, and the loan is still there. Under the lock of senders, with or without the
 * token. */
bool hub_direct_slot_send(struct hub_link *link, const struct hub_message *message,
                          const struct hub_parts *payload);

/* Consume the message: its payload is shown, or copied and its slot returned. False: the peer broke
 * a rule, and the link has closed. r[impl hub.violation] */
bool hub_direct_slot_show(struct hub_link *link, const struct hub_descriptor *message,
                          uint32_t head, struct hub_view *out);
bool hub_direct_slot_copy(struct hub_link *link, const struct hub_descriptor *message,
                          uint32_t head, void *to);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* slot_return: returns slots of the peer that were read, and wakes a peer that waits for one;
 * grants a guest more. */
#ifndef HUB_LINK_SLOT_RETURN_H
#define HUB_LINK_SLOT_RETURN_H

#include "hub/link/link.h"

/* Returns a received slot, and wakes a waiting peer. Any thread. */
int hub_slot_return_back(struct hub_link *link, uint32_t slot);

/* The same for a slot that was shown. hub_slot_return_held_behind_message is for use after a
 * message that this thread has just published: one check for sleepers serves both. */
int hub_slot_return_held_back(struct hub_link *link, const struct hub_slot_held *slot);
int hub_slot_return_held_behind_message(struct hub_link *link, const struct hub_slot_held *slot);

/* The same under the token: the wake-up comes before this thread does anything but receive. */
int hub_slot_return_quietly(struct hub_link *link, uint32_t slot);

/* Wakes the peer for slots that were returned quietly. */
void hub_slot_return_wake(struct hub_link *link);

/* Host: grants slots to a guest that says it has none free. True if it got some, and may get more
 * at the next check. Any thread, even without the receive token. r[impl hub.var.single-popper] */
bool hub_slot_return_attend(struct hub_link *link);

#endif

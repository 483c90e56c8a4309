/* SPDX-License-Identifier: Apache-2.0 */
/* giving: slots of the peer that were read are given back, and who waits for one is woken; a guest
 * is granted more. */
#ifndef HUB_LINK_GIVING_H
#define HUB_LINK_GIVING_H

#include "hub/link/link.h"

/* Gives a slot back that was taken, and wakes who waits for it. Any thread. */
int hub_giving_back(struct hub_link *link, uint32_t slot);

/* The same behind a message that this thread has just published: one look for who sleeps for
 * either.
 */
int hub_giving_behind_message(struct hub_link *link, uint32_t slot);

/* The same under the token: it wakes them before this thread does anything else than to receive. */
int hub_giving_quietly(struct hub_link *link, uint32_t slot);

/* Wakes for those that were given back quietly. */
void hub_giving_wake(struct hub_link *link);

/* Host: grants the guest slots where it says that it has run dry: true where it got some, and may
 * get more at the next look. Any thread, also without the receive token.
 * r[impl hub.var.single-popper] */
bool hub_giving_attend(struct hub_link *link);

#endif

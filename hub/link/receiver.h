/* SPDX-License-Identifier: Apache-2.0 */
/* receiver: the receiving half of a link: the token, and what its holder does. */
#ifndef HUB_LINK_RECEIVER_H
#define HUB_LINK_RECEIVER_H

#include "hub/link/link.h"

/* As the functions of link.h; `bits` are those the leader waits for: HUB_WAIT_RX, and HUB_WAIT_TX
 * where it waits to send. */
int hub_receiver_lead(struct hub_link *link, const struct hub_link_until *until, uint32_t bits);
int hub_receiver_sweep(struct hub_link *link, uint32_t max);
int hub_receiver_rung(struct hub_link *link, uint32_t max);

/* Closes a link whose peer is proven dead, unless another thread has the token, which will. */
void hub_receiver_finish(struct hub_link *link);

/* Is there nothing left to receive, as far as this thread can tell? */
bool hub_receiver_quiet(const struct hub_link *link);

#endif

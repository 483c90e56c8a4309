/* SPDX-License-Identifier: Apache-2.0 */
/* receiver: the receiving half of a link: the token, and the work of its holder. */
#ifndef HUB_LINK_RECEIVER_H
#define HUB_LINK_RECEIVER_H

#include "hub/link/link.h"

/* Like the functions of link.h. The leader alone sleeps on the shared word and on the doorbell: for
 * messages, and for space as soon as any thread waits for that. r[impl hub.wait.owner] */
int hub_receiver_lead(struct hub_link *link, const struct hub_link_until *until);
int hub_receiver_wait(struct hub_link *link, const struct hub_link_until *until);
int hub_receiver_sweep(struct hub_link *link, uint32_t max, bool arms);
int hub_receiver_rung(struct hub_link *link, uint32_t max);

/* Closes a link whose peer is proven dead, unless another thread has the token, which then closes
 * it. */
void hub_receiver_finish(struct hub_link *link);

/* Like hub_link_has_news. */
bool hub_receiver_has_news(const struct hub_link *link);

/* Releases the token and passes on events for others that came meanwhile. `looks_soon`: this thread
 * receives again before it sleeps, perhaps in the loop that on_pending wakes. */
void hub_receiver_let_go(struct hub_link *link, bool looks_soon);

/* Says whether nothing is left to receive, as far as this thread can tell. */
bool hub_receiver_quiet(const struct hub_link *link);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* bystander: a thread that waits on a link while another one receives, until that one tells it to
 * check. */
#ifndef HUB_LINK_BYSTANDER_H
#define HUB_LINK_BYSTANDER_H

#include "hub/link/link.h"

/* Sleeps until the leader tells this thread, or releases the token. */
void hub_bystander_follow(struct hub_link *link, const struct hub_link_until *until);

/* Sleeps until it is told, even if no thread receives. */
void hub_bystander_doze(struct hub_link *link, const struct hub_link_until *until);

/* The same: true if it was told, false if nothing came for a while. */
bool hub_bystander_is_told(struct hub_link *link, const struct hub_link_until *until);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* bystander: a thread that waits while another one receives, until that one tells it to look. */
#ifndef HUB_LINK_BYSTANDER_H
#define HUB_LINK_BYSTANDER_H

#include "hub/link/link.h"

/* Sleeps until the leader tells, or lets go. */
void hub_bystander_follow(struct hub_link *link, const struct hub_link_until *until);

/* Sleeps until somebody tells, though nobody may be receiving. */
void hub_bystander_doze(struct hub_link *link, const struct hub_link_until *until);

/* The same: true where it was told, false where nothing came for a while. */
bool hub_bystander_is_told(struct hub_link *link, const struct hub_link_until *until);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* placement: where the payload of a message goes: into its descriptor, a slot that was lent, or a
 * slot of its own, and where it begins there. */
#ifndef HUB_LINK_PLACEMENT_H
#define HUB_LINK_PLACEMENT_H

#include "hub/link/link_state.h"

/* What is remembered of a new link between two copies. */
void hub_placement_init(struct hub_link *link) REQUIRES(link->send);

/* Copies it, and fills in where it is: 0, -EAGAIN, or what hub_slots_loan refuses with. */
int hub_placement_put(struct hub_link *link, const struct hub_parts *payload,
                      struct hub_descriptor *descriptor) REQUIRES(link->send);

#endif

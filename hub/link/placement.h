/* SPDX-License-Identifier: Apache-2.0 */
/* placement: puts the payload of a message into its descriptor, a slot on loan, or a slot of its
 * own, and chooses where it begins there. */
#ifndef HUB_LINK_PLACEMENT_H
#define HUB_LINK_PLACEMENT_H

#include "hub/link/link_state.h"

/* Initialises the state that is kept between two copies. */
void hub_placement_init(struct hub_link *link) REQUIRES(link->send);

/* Copies the payload, and fills in its place: 0, -EAGAIN, or the error of hub_slots_loan. */
int hub_placement_put(struct hub_link *link, const struct hub_parts *payload,
                      struct hub_descriptor *descriptor) REQUIRES(link->send);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* blocker: the lease that covers a position which was claimed and not published. */
#ifndef HUB_BUS_BLOCKER_H
#define HUB_BUS_BLOCKER_H

#include "hub/bus/region.h"

/* Says who it is; all of it is the holder's own word. */
void hub_blocker_find(const struct rapahub_region *region, uint64_t position,
                      struct rapahub_region_blocker *out);

/* Finds out who it is, and returns RAPAHUB_EBLOCKED with a diagnosis that says so. */
int hub_blocker_refuse(const struct rapahub_region *region, uint64_t position,
                       struct rapahub_region_blocker *out);

/* Says whether the holder of such a lease is proven dead. */
bool hub_blocker_is_dead(const struct rapahub_region *region, uint64_t position);

/* Copies the name of a lease, made printable. */
void hub_blocker_name(const struct rapahub_region *region, uint32_t lease, char to[32]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* fanin: the body of a region of kind FANIN: a ring for each producer, and a consumer that takes
 * from all of them. A producer publishes into its own ring alone, and claims nothing: one that is
 * slow, stopped or dead is in the way of no other. r[impl region.fanin] r[impl region.fanin.apart]
 */
#ifndef HUB_BUS_FANIN_H
#define HUB_BUS_FANIN_H

#include "hub/bus/region.h"

struct hub_region_fanin *hub_fanin_body(const struct rapahub_region *region);

/* Under TABLE: clears the words that name the lease of a dead process, and wakes all producers. May
 * be repeated. */
void hub_fanin_forget(const struct rapahub_region *region, uint32_t lease);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* fanout: the consumers of a region of kind FANOUT: who subscribes, and who is left out.
 *
 * A consumer subscribes by opening and ends that by closing. A death does not: its queue is kept
 * and filled as far as its credit goes. r[impl region.subscribe] */
#ifndef HUB_BUS_FANOUT_H
#define HUB_BUS_FANOUT_H

#include "hub/bus/region.h"

struct hub_region_fanout *hub_fanout_body(const struct rapahub_region *region);
struct hub_region_consumer *hub_fanout_consumer(const struct rapahub_region *region,
                                                uint32_t index);

/* Under TABLE: a consumer was opened. */
void hub_fanout_subscribe(const struct rapahub_region *region, uint32_t index);

/* By its consumer: it is about to close. */
void hub_fanout_unsubscribe(const struct rapahub_region *region, uint32_t index);

/* Under TABLE: its consumer is proven dead; or by its consumer, which goes and will come again. */
void hub_fanout_suspend(const struct rapahub_region *region, uint32_t index);

/* Under TABLE: clears the words that name the lease of a dead process, and wakes all sleepers. May
 * be repeated. */
void hub_fanout_forget(const struct rapahub_region *region, uint32_t lease);

#endif

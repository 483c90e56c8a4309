/* SPDX-License-Identifier: Apache-2.0 */
/* producer: the part of a producer that is for the rooms above: <rapahub/region.h> has the rest. */
#ifndef HUB_BUS_PRODUCER_H
#define HUB_BUS_PRODUCER_H

#include <rapahub/region.h>

/* Gives the role back as rapahub_producer_close does, and keeps the handle, which fails with
 * RAPAHUB_ESTATE until it has a role again. The region may be closed then. No other thread uses the
 * handle meanwhile. NULL, and a handle without a role, are allowed. r[impl region.let-go] */
void hub_producer_let_go(struct rapahub_producer *producer);

/* Takes a role for a handle that has none, as rapahub_producer_open does; its count of dropped
 * messages goes on. After a failure it has none. */
int hub_producer_resume(struct rapahub_producer *producer, struct rapahub_region *region,
                        const struct rapahub_producer_options *options);

#endif

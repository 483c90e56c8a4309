/* SPDX-License-Identifier: Apache-2.0 */
/* mpsc: the producers of a ring of kind MPSC. A producer writes into its lease what it is about to
 * claim, claims, fills and publishes, and clears the intent. So a position that is claimed and not
 * published is covered by the intent of its owner. r[impl region.order.claim] */
#ifndef HUB_BUS_MPSC_H
#define HUB_BUS_MPSC_H

#include "hub/bus/region.h"

/* Publishes at the next position. `intent` is that of the caller's lease, NULL in a region without
 * leases. RAPAHUB_EFULL, without a diagnosis; RAPAHUB_ECORRUPT; RAPAHUB_ERETIRED; nothing is
 * claimed then. A producer that dies strands
 * at most what it has claimed. r[impl region.strand] */
int hub_mpsc_push(const struct hub_ring_view *view, struct hub_a64 *intent, const void *data,
                  size_t size, uint32_t producer);

/* Says whether a producer would find the ring full. */
bool hub_mpsc_is_full(const struct hub_ring_view *view);

#endif

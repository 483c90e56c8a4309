/* SPDX-License-Identifier: Apache-2.0 */
/* resume: where a ring's head and tail are, from its cells alone. Correct while the other side of
 * an SPSC ring runs; the counters of a ring are only hints. r[impl region.resume] */
#ifndef HUB_BUS_RESUME_H
#define HUB_BUS_RESUME_H

#include "hub/bus/region.h"

/* The position that the consumer takes next: the least of all cells. RAPAHUB_ECORRUPT. */
int hub_resume_head(const struct hub_ring_view *view, uint64_t *out);

/* The position that the producer of an SPSC ring publishes next. The smallest position that is free
 * is not it: with a consumer that runs meanwhile that is wrong. RAPAHUB_ECORRUPT. */
int hub_resume_tail(const struct hub_ring_view *view, uint64_t *out);

/* Both of an SPSC ring, for people: of its cells, or without `scan` its counters, of which a tail
 * before the head counts as the head. RAPAHUB_ECORRUPT: what was not found is the counter's. */
int hub_resume_ends(const struct hub_ring_view *view, bool scan, uint64_t *head, uint64_t *tail);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* observations: a ring of events from one writing thread to one reading thread. The writer numbers
 * the events and never waits; the numbers show the reader which events did not fit. */
#ifndef HOST_OBSERVE_OBSERVATIONS_H
#define HOST_OBSERVE_OBSERVATIONS_H

#include <stddef.h>

#include <rapahub/supervise.h>

#include "hub/base/atomic.h"

struct host_observations {
    struct rapahub_observation *cells;
    uint32_t max;            /* a power of two */
    struct hub_a32 written;  /* by the writer */
    struct hub_a64 sequence; /* by the writer: number of the last event, whether it fitted or not */
    struct hub_a32 read;     /* by the reader */
    uint64_t seen, dropped;  /* the reader's: the last known number; how many are lost */
};

int host_observations_init(struct host_observations *ring, uint32_t max);
void host_observations_fini(struct host_observations *ring);

/* Writer: adds an event and fills in its sequence number. */
void host_observations_put(struct host_observations *ring, const struct rapahub_observation *what);

/* Reader: returns the number of events, at most `max`. After a gap `overflow` is set; if no event
 * follows the gap yet, there is an event RAPAHUB_CHANGE_LOST. */
size_t host_observations_take(struct host_observations *ring, struct rapahub_observation *list,
                              size_t max);

#endif

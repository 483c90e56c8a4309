/* SPDX-License-Identifier: Apache-2.0 */
/* observations: a ring of events between one thread that writes and one that reads. The writer
 * numbers them and never waits; the reader finds out from the numbers what did not fit. */
#ifndef HOST_OBSERVE_OBSERVATIONS_H
#define HOST_OBSERVE_OBSERVATIONS_H

#include <stddef.h>

#include <rapahub/supervise.h>

#include "hub/base/atomic.h"

struct host_observations {
    struct rapahub_observation *cells;
    uint32_t max;            /* a power of two */
    struct hub_a32 written;  /* by the writer */
    struct hub_a64 sequence; /* the same: of the last event, whether it fitted or not */
    struct hub_a32 read;     /* by the reader */
    uint64_t seen, dropped;  /* the reader's: the last number it knows of, how many are lost */
};

int host_observations_init(struct host_observations *ring, uint32_t max);
void host_observations_fini(struct host_observations *ring);

/* Writer: its sequence number is filled in. */
void host_observations_put(struct host_observations *ring, const struct rapahub_observation *what);

/* Reader: how many there were, at most `max`. Behind a gap `overflow` is set; where nothing follows
 * a gap yet there is an event RAPAHUB_CHANGE_LOST. */
size_t host_observations_take(struct host_observations *ring, struct rapahub_observation *list,
                              size_t max);

#endif

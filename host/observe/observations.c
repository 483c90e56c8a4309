/* SPDX-License-Identifier: Apache-2.0 */
#include "host/observe/observations.h"

#include <stdlib.h>

#include <rapahub/error.h>

int host_observations_init(struct host_observations *ring, uint32_t max)
{
    *ring = (struct host_observations){.max = max, .cells = calloc(max, sizeof *ring->cells)};
    return ring->cells ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u events", max);
}

void host_observations_fini(struct host_observations *ring)
{
    free(ring->cells);
    ring->cells = NULL;
}

/* The number is published after the event: a reader of the number finds in the ring all events up
 * to it that fitted. r[impl supervise.observer.overflow] */
void host_observations_put(struct host_observations *ring, const struct rapahub_observation *what)
{
    uint32_t at = hub_load_relaxed(&ring->written);
    uint64_t sequence = hub_load_relaxed64(&ring->sequence) + 1;

    if (at - hub_observe(&ring->read) < ring->max) {
        ring->cells[at % ring->max] = *what;
        ring->cells[at % ring->max].sequence = sequence;
        hub_publish(&ring->written, at + 1);
    }
    hub_publish64(&ring->sequence, sequence);
}

/* Events between the last known number and this one were dropped. */
static void pass(struct host_observations *ring, struct rapahub_observation *to)
{
    uint64_t missing = to->sequence - ring->seen - 1;

    ring->seen = to->sequence;
    ring->dropped += missing + (to->change == RAPAHUB_CHANGE_LOST);
    to->overflow = missing > 0 || to->change == RAPAHUB_CHANGE_LOST;
    to->dropped = ring->dropped;
}

size_t host_observations_take(struct host_observations *ring, struct rapahub_observation *list,
                              size_t max)
{
    uint64_t last = hub_observe64(&ring->sequence);
    uint32_t at = hub_load_relaxed(&ring->read), end = hub_observe(&ring->written);
    size_t count = 0;

    for (; count < max && at != end; at++, count++) {
        list[count] = ring->cells[at % ring->max];
        pass(ring, &list[count]);
    }
    hub_publish(&ring->read, at);
    if (count < max && ring->seen < last) {
        list[count] = (struct rapahub_observation){.change = RAPAHUB_CHANGE_LOST, .sequence = last};
        pass(ring, &list[count++]);
    }
    return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* slot_arrivals: extents that were added since a guest attached, on the guest's side. Their memory
 * comes as a descriptor with a byte of the doorbell, or lies in the segment's file. */
#ifndef HUB_SHM_SLOT_ARRIVALS_H
#define HUB_SHM_SLOT_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/slot_class.h"

/* Any thread. */
struct hub_slot_arrivals {
    struct hub_mutex lock;
    int fds[HUB_CLASSES_MAX][HUB_EXTENTS_MAX] GUARDED_BY(lock); /* not yet mapped; -1: none */
    /* more than one came at once, or more than this process had numbers for */
    bool cut GUARDED_BY(lock);
    struct hub_doorbell_inbox inbox; /* for the reader of the doorbell */
    /* gets what is no extent; NULL: that is closed. Set before the doorbell is read. */
    const struct hub_doorbell_inbox *others;
};

void hub_slot_arrivals_init(struct hub_slot_arrivals *arrivals);
void hub_slot_arrivals_fini(struct hub_slot_arrivals *arrivals);

/* Maps an extent into `map`, from a received descriptor, or from the segment's file if the class's
 * header says so. Returns 0; -ENOENT, without a diagnosis, if it has not arrived; RAPAHUB_EPROTOCOL
 * (shm.varslot.extents) if it is not as its class says. r[impl shm.varslot.extents] */
int hub_slot_arrivals_map(struct hub_slot_arrivals *arrivals, struct hub_slot_map *map,
                          struct hub_extent_name name, int file);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* slot_arrivals: a guest's side of extents that were added since it came: memory that was sent to
 * it with a byte of the doorbell, or that lies in the segment's file. */
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
    int fds[HUB_CLASSES_MAX][HUB_EXTENTS_MAX] GUARDED_BY(lock); /* not mapped yet; -1: none */
    bool cut GUARDED_BY(lock);       /* more came at once than one, or than there was room for */
    struct hub_doorbell_inbox inbox; /* for who reads the doorbell */
};

void hub_slot_arrivals_init(struct hub_slot_arrivals *arrivals);
void hub_slot_arrivals_fini(struct hub_slot_arrivals *arrivals);

/* Maps an extent into `map`: from what was sent, or where the class's header says from the file of
 * the segment: 0; -ENOENT, without a diagnosis, where it is not there yet; RAPAHUB_EPROTOCOL
 * (shm.varslot.extents) where it is not what its class says. r[impl shm.varslot.extents] */
int hub_slot_arrivals_map(struct hub_slot_arrivals *arrivals, struct hub_slot_map *map,
                          struct hub_extent_name name, int file);

#endif

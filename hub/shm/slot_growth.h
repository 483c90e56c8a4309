/* SPDX-License-Identifier: Apache-2.0 */
/* slot_growth: the host's memory of slots of several sizes grows while guests run: an extent more
 * for a class, appended to the segment's file, or in a memfd of its own that is sent to the guest.
 * Nothing that is mapped moves. */
#ifndef HUB_SHM_SLOT_GROWTH_H
#define HUB_SHM_SLOT_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mapping.h"
#include "hub/shm/slot_class.h"

/* Zeroed: nothing grows. Under the lock of the bank it belongs to. */
struct hub_slot_growth {
    const struct hub_mapping *file; /* of the segment; NULL: extents have memory of their own */
    struct hub_a64 *current_size;   /* in the header; NULL without a file */
    uint64_t end;                   /* of the file, as we made it */
    uint64_t used, most;            /* bytes of all extents */
    uint64_t not_before_ns;         /* it failed: not tried again before */
    int bell;                       /* our end of the guest's doorbell; -1: not known now */
    bool unsent;                    /* `made` is there, the guest was not told yet */
    struct hub_extent_name made_name;
    struct hub_mapping made;
};

/* For a segment of so many bytes for extents. `file` outlives it. */
struct hub_slot_growth_plan {
    const struct hub_mapping *file; /* shared; or NULL */
    struct hub_a64 *current_size;
    uint64_t most;
};
void hub_slot_growth_init(struct hub_slot_growth *growth, const struct hub_slot_map *map,
                          const struct hub_slot_growth_plan *plan);
void hub_slot_growth_fini(struct hub_slot_growth *growth);

/* May it be tried now? A look without a system call. */
bool hub_slot_growth_wants(const struct hub_slot_growth *growth, const struct hub_slot_map *map,
                           uint32_t size_class);

/* Adds the next extent of a class to `map`, told to guests: 0, or -EAGAIN, without a diagnosis,
 * where there may be none, or not now; why is logged. r[impl shm.varslot.extents] */
int hub_slot_growth_add(struct hub_slot_growth *growth, struct hub_slot_map *map,
                        uint32_t size_class);

#endif

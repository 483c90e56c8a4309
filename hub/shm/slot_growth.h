/* SPDX-License-Identifier: Apache-2.0 */
/* slot_growth: the host's memory for slots of several sizes grows while guests run. A class gets
 * another extent, appended to the segment's file, or in a memfd of its own that is sent to the
 * guest. Mapped memory never moves. */
#ifndef HUB_SHM_SLOT_GROWTH_H
#define HUB_SHM_SLOT_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mapping.h"
#include "hub/shm/slot_class.h"

/* Zeroed: nothing grows. Under the lock of the allocator that it belongs to. */
struct hub_slot_growth {
    const struct hub_mapping *file; /* the segment's; NULL: extents have memory of their own */
    struct hub_a64 *current_size;   /* in the header; NULL without a file */
    uint64_t end;                   /* end of the file, as we extended it */
    uint64_t used, most;            /* bytes of all extents */
    uint64_t not_before_ns;         /* after a failure: no new attempt before this time */
    int bell;                       /* our end of the guest's doorbell; -1: not known now */
    bool unsent;                    /* `made` exists, but the guest was not told yet */
    struct hub_extent_name made_name;
    struct hub_mapping made;
};

/* The plan for a segment with `most` bytes for extents. `file` outlives it. */
struct hub_slot_growth_plan {
    const struct hub_mapping *file; /* shared; or NULL */
    struct hub_a64 *current_size;
    uint64_t most;
};
void hub_slot_growth_init(struct hub_slot_growth *growth, const struct hub_slot_map *map,
                          const struct hub_slot_growth_plan *plan);
void hub_slot_growth_fini(struct hub_slot_growth *growth);

/* Says whether an attempt may be made now, without a system call. */
bool hub_slot_growth_wants(const struct hub_slot_growth *growth, const struct hub_slot_map *map,
                           uint32_t size_class);

/* Adds the next extent of a class to `map` and tells the guests. Returns 0, or -EAGAIN, without a
 * diagnosis, if there can be none, or not now; the reason is logged. r[impl shm.varslot.extents] */
int hub_slot_growth_add(struct hub_slot_growth *growth, struct hub_slot_map *map,
                        uint32_t size_class);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* region_check: from the bytes of a file to a verdict. Nothing of a region is used before it, and
 * it reads nothing outside of `length`. Pure. */
#ifndef HUB_BUS_REGION_CHECK_H
#define HUB_BUS_REGION_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "hub/bus/region_shape.h"

/* The findings; each member is set where the checks came so far. */
struct hub_region_found {
    struct hub_region_shape shape;
    uint32_t initialized, generation;
    uint32_t init_pid;
    uint64_t id;
};

/* Checks in the fixed order. `kind` 0: any. Returns 0, or the code of the first defect. At least 64
 * bytes are mapped at `data` if `length` says so; other processes may write them.
 * r[impl region.order] */
int hub_region_check(const void *data, size_t length, uint32_t kind, struct hub_region_found *out);

/* The same but for `initialized`, which is not looked at: for a region that is made anew. */
int hub_region_check_geometry(const void *data, size_t length, struct hub_region_found *out);

/* Says whether a region of a kind can be used in a state of `initialized`. A state of kind STATE_V1
 * has its own sequence, and can be used before it is said to be initialised; no region can that was
 * removed. r[impl region.parity] */
bool hub_region_check_is_begun(enum hub_region_kind kind, uint32_t initialized);

/* Returns the checksum of a header. */
uint32_t hub_region_check_sum(const struct hub_region_header *header);

#endif

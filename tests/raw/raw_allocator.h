/* SPDX-License-Identifier: Apache-2.0 */
/* raw allocator: a host's slots of several sizes, for one guest. */
#ifndef TESTS_RAW_RAW_ALLOCATOR_H
#define TESTS_RAW_RAW_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/raw/raw_link.h"

/* All slots of the first extents into the reserve. */
int raw_allocator_stock(struct raw_link *link);

/* Grants so many of a class, as far as there are; how many it was. */
uint32_t raw_allocator_grant(struct raw_link *link, uint32_t c, uint32_t count);

/* Grants one of each class that the guest wants, growing it where it may. */
void raw_allocator_attend(struct raw_link *link);

/* Adds an extent: in a file after its end, else in sealed memory that is sent with the doorbell. 0,
 * -ENOSPC at the fourth, -errno. */
int raw_allocator_grow(struct raw_link *link, uint32_t c);

/* Collects the slots that the guest pushed back into the reserve: 0, or -EPROTO for an impossible
 * one. */
int raw_allocator_gather(struct raw_link *link, uint32_t c);

int raw_allocator_take(struct raw_link *link, uint32_t size, uint32_t *ref);
bool raw_allocator_ready(struct raw_link *link);

/* Writes header and records of an extent into zeroed memory. */
struct raw_extent_name {
    uint32_t size_class, extent, slots, slot_size;
};
void raw_allocator_format(uint8_t *memory, const struct raw_extent_name *name);

#endif

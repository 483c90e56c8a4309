/* SPDX-License-Identifier: Apache-2.0 */
/* cell: the state word of a cell: its position, and a tag. Positions only grow. A word that is none
 * of these is damage. */
#ifndef HUB_BUS_CELL_H
#define HUB_BUS_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/bus/layout.h"

enum hub_cell_tag { HUB_CELL_FREE, HUB_CELL_PUBLISHED = 2, HUB_CELL_POISONED = 3 };

#define HUB_CELL_POSITION_MAX ((UINT64_C(1) << 56) - (UINT64_C(1) << 32))
#define HUB_CELL_OVERHEAD     16 /* bytes of a cell before its payload */
#define HUB_CELL_SOURCE       8  /* bytes of a payload in a queue that name its source position */
#define HUB_CELL_ROUTED       8u /* flag of such a cell */

static inline uint64_t hub_cell_word(uint64_t position, enum hub_cell_tag tag)
{
    return position << 2 | (uint64_t)tag;
}

static inline uint64_t hub_cell_free(uint64_t position)
{
    return hub_cell_word(position, HUB_CELL_FREE);
}

static inline uint64_t hub_cell_published(uint64_t position)
{
    return hub_cell_word(position, HUB_CELL_PUBLISHED);
}

static inline uint64_t hub_cell_poisoned(uint64_t position)
{
    return hub_cell_word(position, HUB_CELL_POISONED);
}

static inline uint64_t hub_cell_position(uint64_t word)
{
    return word >> 2;
}

static inline enum hub_cell_tag hub_cell_tag(uint64_t word)
{
    return (enum hub_cell_tag)(word & 3);
}

/* The bytes of a ring that its cells follow at once: a multiple of 128. */
static inline uint64_t hub_cell_ring_bytes(uint32_t cells, uint32_t cell_bytes)
{
    return sizeof(struct hub_region_ring) + (uint64_t)cells * cell_bytes;
}

#endif

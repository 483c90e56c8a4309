/* SPDX-License-Identifier: Apache-2.0 */
/* region_shape: where the parts of a region lie, and what it can do. Private numbers: after the
 * shape was made the geometry is never read from the region again. Pure. */
#ifndef HUB_BUS_REGION_SHAPE_H
#define HUB_BUS_REGION_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/region.h>

#include "hub/bus/cell.h"
#include "hub/bus/fanout_shape.h"
#include "hub/bus/layout.h"
#include "hub/bus/sequencer/sequencer_shape.h"
#include "hub/bus/state/state_shape.h"

struct hub_region_shape {
    enum hub_region_kind kind;
    uint64_t caps_required, caps_optional;
    uint32_t cell_bytes, cell_count; /* a state and a sequencer have none: 0 */
    uint32_t lease_off, lease_count;
    uint32_t body_off;
    uint32_t ring_off, cells_off; /* the ring that producers publish into */
    uint32_t head_batch;
    uint64_t layout_bytes;
    struct hub_fanout_shape fanout;
    uint32_t producers; /* FANIN: its rings, in a row from `ring_off` on; else 0 */
    struct hub_state_shape state;
    struct hub_sequencer_shape sequencer;
};

/* Says whether a kind is one of those that this version knows. */
static inline bool hub_region_shape_is_kind(uint32_t kind)
{
    return (kind >= HUB_REGION_SPSC && kind <= HUB_REGION_SEQUENCER) || kind == HUB_REGION_FANIN ||
           hub_state_shape_is_kind(kind);
}

/* Says whether a region has one value instead of messages: no ring, no cells. */
static inline bool hub_region_shape_is_state(const struct hub_region_shape *shape)
{
    return hub_state_shape_is_kind((uint32_t)shape->kind);
}

/* Says whether a region has positions and stages instead of messages: no ring, no cells. */
static inline bool hub_region_shape_is_sequencer(const struct hub_region_shape *shape)
{
    return shape->kind == HUB_REGION_SEQUENCER;
}

/* Says whether a region has messages, in the cells of rings. */
static inline bool hub_region_shape_has_cells(const struct hub_region_shape *shape)
{
    return !hub_region_shape_is_state(shape) && !hub_region_shape_is_sequencer(shape);
}

/* Says whether a region with this shape has a capability. */
static inline bool hub_region_shape_has(const struct hub_region_shape *shape, uint64_t cap)
{
    return ((shape->caps_required | shape->caps_optional) & cap) != 0;
}

/* Says whether producers claim positions that they share: there may be many of them. */
static inline bool hub_region_shape_claims(const struct hub_region_shape *shape)
{
    return shape->kind == HUB_REGION_MPSC || shape->kind == HUB_REGION_FANOUT ||
           shape->sequencer.avail_off != 0;
}

/* Returns the bytes of the longest message. r[impl region.message.max] */
static inline uint32_t hub_region_shape_message_max(const struct hub_region_shape *shape)
{
    bool routed = hub_region_shape_has(shape, HUB_CAP_IDEMPOTENT);

    return shape->cell_bytes - HUB_CELL_OVERHEAD - (routed ? HUB_CELL_SOURCE : 0);
}

/* Lays out a new region. `light_wakes`: the system has membarrier. -EINVAL says which option is
 * wrong. */
int hub_region_shape_make(const struct rapahub_region_options *options, bool light_wakes,
                          struct hub_region_shape *out);

/* Says whether all parts of a shape that was read lie inside `layout_bytes`, aligned, and none over
 * another. */
bool hub_region_shape_holds(const struct hub_region_shape *shape);

/* Returns how many handles of a role a region of this shape has, each with an index of its own; 0:
 * none. `shared`: any number of handles may have the same index. */
uint32_t hub_region_shape_places(const struct hub_region_shape *shape,
                                 enum rapahub_region_role role, bool *shared);

#endif

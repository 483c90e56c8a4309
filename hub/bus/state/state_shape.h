/* SPDX-License-Identifier: Apache-2.0 */
/* state_shape: the private numbers of a region of kind STATE_V1 or STATE_LATCH: how long a value
 * may be, and where its buffers lie. Pure. r[impl region.state.shape] */
#ifndef HUB_BUS_STATE_SHAPE_H
#define HUB_BUS_STATE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/region.h>

#include "hub/bus/state/state_layout.h"

struct hub_state_shape {
    uint32_t value_bytes; /* the longest value has them; 0: the region is of another kind */
    uint32_t buffers;     /* STATE_LATCH: at least 2; STATE_V1: 0 */
    uint32_t stride;      /* from one buffer to the next */
    uint32_t buffers_off;
};

/* Says whether regions of a kind have one value instead of messages. */
static inline bool hub_state_shape_is_kind(uint32_t kind)
{
    return kind == RAPAHUB_REGION_STATE_V1 || kind == RAPAHUB_REGION_STATE_LATCH;
}

/* Takes the options of a new region of such a kind. -EINVAL says which is wrong. */
int hub_state_shape_make(const struct rapahub_region_options *options, struct hub_state_shape *out);

/* Refuses options that only these kinds have. */
int hub_state_shape_refuse(const struct rapahub_region_options *options);

/* Places the buffers of a shape after its body. */
void hub_state_shape_place(uint32_t body_off, struct hub_state_shape *shape);

/* Returns how many bytes the body of a shape has, with its buffers. */
uint64_t hub_state_shape_bytes(const struct hub_state_shape *shape);

/* Copies and checks the numbers of the body at `body_off` of the region at `data`; 128 bytes of it
 * are mapped. Where its buffers end is not checked yet: see hub_state_shape_bytes. False: they are
 * none.
 */
bool hub_state_shape_read(const uint8_t *data, uint32_t body_off, bool latch,
                          struct hub_state_shape *out);

#endif

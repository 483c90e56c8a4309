/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_shape: the private numbers of a region of kind SEQUENCER: its ring, its stages and whom
 * they follow, and where its parts lie. Pure. r[impl region.sequencer.shape] */
#ifndef HUB_BUS_SEQUENCER_SHAPE_H
#define HUB_BUS_SEQUENCER_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/sequencer.h>

#include "hub/bus/sequencer/sequencer_layout.h"

struct hub_sequencer_stage {
    uint64_t after;
    uint64_t freeze_ns;
    uint32_t on_death;
};

struct hub_sequencer_shape {
    uint32_t ring_size; /* 0: the region is of another kind */
    uint32_t stage_count, gates_off;
    uint32_t avail_off; /* 0: a single producer */
    uint32_t user_off, user_bytes;
    struct hub_sequencer_stage stages[HUB_SEQUENCER_STAGES_MAX];
};

/* Takes the options of a new region of this kind. -EINVAL says which is wrong; stages that follow
 * each other in a circle are named. */
int hub_sequencer_shape_make(const struct rapahub_region_options *options,
                             struct hub_sequencer_shape *out);

/* Refuses options that only this kind has. */
int hub_sequencer_shape_refuse(const struct rapahub_region_options *options);

/* Places gates, words and user area after the body, and returns where they end. */
uint64_t hub_sequencer_shape_place(uint32_t body_off, struct hub_sequencer_shape *shape);

/* Copies and checks the numbers of the body at `body_off`, and of its gates, of the region at
 * `data`. All parts lie in the order of hub_sequencer_shape_place within `layout_bytes`. False:
 * they do not. */
bool hub_sequencer_shape_read(const uint8_t *data, uint32_t body_off, uint64_t layout_bytes,
                              struct hub_sequencer_shape *out);

#endif

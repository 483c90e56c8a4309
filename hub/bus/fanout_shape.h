/* SPDX-License-Identifier: Apache-2.0 */
/* fanout_shape: the private numbers of a region of kind FANOUT: how its router works, and where its
 * consumers and their queues lie. Pure. r[impl region.fanout] */
#ifndef HUB_BUS_FANOUT_SHAPE_H
#define HUB_BUS_FANOUT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/region.h>

#include "hub/bus/layout.h"

struct hub_fanout_shape {
    uint32_t mode, credit; /* enum hub_fanout_mode, enum hub_fanout_credit */
    uint32_t consumers;    /* 0: the region is of another kind */
    uint32_t credit_max;   /* messages that a queue may have */
    uint64_t detach_after_ns;
    uint32_t consumers_off;
    uint32_t queues_off; /* the ring of the first queue */
};

/* Takes the options of a new region whose queues have `cells` cells. -EINVAL says which is wrong.
 */
int hub_fanout_shape_make(const struct rapahub_region_options *options, uint32_t cells,
                          struct hub_fanout_shape *out);

/* Refuses options that only this kind has. */
int hub_fanout_shape_refuse(const struct rapahub_region_options *options);

/* Copies and checks the numbers of a body, which lies inside what is mapped. The places are not
 * checked yet. False: they are none. */
bool hub_fanout_shape_read(const uint8_t *body, uint32_t cells, struct hub_fanout_shape *out,
                           uint32_t *source_off);

/* Reads the places of the consumers, which lie inside what is mapped. False: they differ among each
 * other. */
bool hub_fanout_shape_read_consumers(const uint8_t *data, uint32_t cells, uint64_t queue_bytes,
                                     struct hub_fanout_shape *shape);

#endif

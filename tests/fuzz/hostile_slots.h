/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_slots: what a peer may write where slots are of several sizes: heads and links of stacks,
 * records, headers, slots. Often what is nearly right, so that deeper places are reached. */
#ifndef TESTS_FUZZ_HOSTILE_SLOTS_H
#define TESTS_FUZZ_HOSTILE_SLOTS_H

#include "hub/shm/segment.h"

struct hostile_slots {
    struct hub_segment *segment;
    uint32_t peer;
    void (*take)(void *user, void *to, size_t size); /* bytes of the input */
    void *user;
};

/* Acts as the host of peer 1: grants it its first share. */
int hostile_slots_endow(struct hub_segment *segment);

/* Write anywhere but into slots, and into a slot. */
void hostile_slots_write(const struct hostile_slots *hostile);
void hostile_slots_write_slot(const struct hostile_slots *hostile);

/* A slot that is likely to be the peer's, made ready to be received: its bytes. */
uint8_t *hostile_slots_send(const struct hostile_slots *hostile, uint32_t size,
                            struct hub_descriptor *descriptor);

#endif

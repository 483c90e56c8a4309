/* SPDX-License-Identifier: Apache-2.0 */
/* stage_slots: what memory for payloads a stage has, and what must hold of it after a death. */
#ifndef TESTS_FAULT_STAGE_SLOTS_H
#define TESTS_FAULT_STAGE_SLOTS_H

#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "tests/support/sweep.h"

#define STAGE_SLOTS       4    /* slots of each pool */
#define STAGE_PAYLOAD_MAX 6000 /* bytes; 252 with pools */

enum stage_memory {
    STAGE_POOLS,
    STAGE_CLASSES, /* slots of 64, 1,024 and 6,016 bytes, 12 of each, in a file; a guest has 3 */
    STAGE_PRIVATE_CLASSES /* the same sizes, 8 slots each, in a memfd; the guest has 4 */
};

int stage_slots_create(enum stage_memory memory, struct hub_segment **out);

/* Payloads of one slot of each kind: sizes, ended by 0. */
const uint32_t *stage_slots_sizes(enum stage_memory memory);

/* The guest takes all that it is granted of the class for `size` bytes, and sends none of it. */
int stage_slots_use_up(struct hub_slots *guest, uint32_t size);

/* The host sends all that it has of the class for `size` bytes to guest 1; and one slot more, of a
 * new extent. */
int stage_slots_lend_all(struct hub_slots *host, uint32_t size);
int stage_slots_grow(struct hub_slots *host, uint32_t size);

/* Guest 1 wants more of that class; and gets it: how many slots. */
void stage_slots_want(struct hub_slots *host, uint32_t size);
uint32_t stage_slots_grant(struct hub_slots *host, uint32_t size);

/* Lets the child see the extents that the host has added. */
void stage_slots_let_fork(const struct hub_slots *host);

/* All of the host is in its reserve, once; guest `peer` has nothing. */
int stage_slots_check(struct hub_slots *host, const struct hub_segment_view *view, uint32_t peer,
                      struct sweep_point *point);

#endif

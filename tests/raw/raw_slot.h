/* SPDX-License-Identifier: Apache-2.0 */
/* raw slot: slots of the own pool are taken, those of the other side's pool given back. */
#ifndef TESTS_RAW_RAW_SLOT_H
#define TESTS_RAW_RAW_SLOT_H

#include <stdint.h>

#include "tests/raw/raw_link.h"

/* Takes a slot of the own pool: its bit is cleared, its generation raised. 0 or -EAGAIN. */
int raw_slot_take(struct raw_link *link, uint32_t *slot, uint32_t *generation);

/* First payload byte of a slot of the own pool. */
uint8_t *raw_slot_bytes(const struct raw_link *link, uint32_t slot);

/* Gives a slot of the other side's pool back. -EPROTO if it was free. */
int raw_slot_free(struct raw_link *link, uint32_t slot);

/* How many bits are set in the own pool's bitmap: free slots. */
uint32_t raw_slot_count_free(const struct raw_link *link);

/* Offset in the segment of a slot's generation word; `pool` is link->out_pool or link->in_pool. */
uint64_t raw_slot_at(const struct raw_link *link, uint64_t pool, uint32_t slot);

#endif

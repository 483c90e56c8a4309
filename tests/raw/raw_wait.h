/* SPDX-License-Identifier: Apache-2.0 */
/* raw wait: sleeping until the other side has published something, and waking it. */
#ifndef TESTS_RAW_RAW_WAIT_H
#define TESTS_RAW_RAW_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/raw/raw_link.h"

/* The condition that this side waits for. */
struct raw_wait {
    uint64_t word;  /* the specification's word: published by the other side */
    uint32_t futex; /* own sleep bits: on the wait word ... */
    uint32_t bell;  /* ... and on the doorbell */
    bool (*check)(struct raw_link *link);
};

/* 0 once `check` holds; -ETIMEDOUT; -EPIPE if the other side is gone. */
int raw_wait_for(struct raw_link *link, const struct raw_wait *wait, int timeout_ms);

/* Wakes the other side, which waits to receive (`mask` 0x06) or for space (0x18), as the behaviour
 * says; a foreign peer wakes the futex on the word at offset `seed_word`. */
void raw_wait_wake(struct raw_link *link, uint32_t mask, uint64_t seed_word);

/* Reads all that is in the doorbell, and keeps the descriptors that came with it; false if the
 * other side hung up. */
bool raw_wait_hear(struct raw_link *link);

/* Sends a byte into the doorbell, whatever the behaviour. 0 or -errno. */
int raw_wait_ring(const struct raw_link *link);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* random: a generator with a seed for what must be repeatable, nonces for names. */
#ifndef HUB_BASE_RANDOM_H
#define HUB_BASE_RANDOM_H

#include <stdint.h>

struct hub_random {
    uint64_t state;
};

/* The same seed gives the same numbers on every machine (splitmix64). */
void hub_random_init(struct hub_random *random, uint64_t seed);
uint64_t hub_random_next(struct hub_random *random);

/* From 0 to `below` - 1, without bias; `below` > 0. */
uint64_t hub_random_below(struct hub_random *random, uint64_t below);

/* 64 bits from the kernel, for what others must not guess. */
uint64_t hub_random_nonce(void);

#endif

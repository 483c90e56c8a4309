/* SPDX-License-Identifier: Apache-2.0 */
/* random: a seeded generator for repeatable numbers, and nonces for names. */
#ifndef HUB_BASE_RANDOM_H
#define HUB_BASE_RANDOM_H

#include <stdint.h>

struct hub_random {
    uint64_t state;
};

/* The same seed gives the same numbers on every machine (splitmix64). */
void hub_random_init(struct hub_random *random, uint64_t seed);
uint64_t hub_random_next(struct hub_random *random);

/* Returns a number from 0 to `below` - 1, without bias; `below` > 0. */
uint64_t hub_random_below(struct hub_random *random, uint64_t below);

/* Returns 64 bits from the kernel that others cannot guess. */
uint64_t hub_random_nonce(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pair: the model and the machine, side by side. Both get the same deaths, of children that start
 * at once or fail to, and stop at once: what they start and stop, in which order, and the states
 * all end in must be equal. */
#ifndef TESTS_SIMULATION_PAIR_H
#define TESTS_SIMULATION_PAIR_H

#include <stdint.h>

/* Compares over `steps` deaths. NULL: equal; else where not, in words that name the seed. */
const char *pair_compare(uint64_t seed, unsigned steps);

/* Starts and stops compared so far. */
uint64_t pair_compared(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* raw pair: a raw host and a raw guest in one process, over one mapping. */
#ifndef TESTS_RAW_RAW_PAIR_H
#define TESTS_RAW_RAW_PAIR_H

#include "tests/raw/raw_host.h"
#include "tests/raw/raw_link.h"

struct raw_pair {
    struct raw_host segment;
    struct raw_link host, guest; /* set their behaviour before */
};

/* Entry 1 is reserved and attached. 0 or -errno, and then nothing is left. */
int raw_pair_open(struct raw_pair *pair, const struct raw_config *config, enum raw_bell bell);
void raw_pair_close(struct raw_pair *pair);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* raw manners: what hosts of other makes may do, by the text: clean up as soon as they see a
 * Goodbye, without a look at the process. And what they may ask then: has anybody written to it
 * since? */
#ifndef TESTS_RAW_RAW_MANNERS_H
#define TESTS_RAW_RAW_MANNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/raw/raw_host.h"

/* The six steps: Goodbye, nothing open, rings empty, slots free (the host's own too: no other guest
 * may be attached), channels Free, Empty. */
void raw_manners_clean_up(struct raw_host *host, uint32_t peer);

/* All that is this peer's or lent to it: its entry, the pools, its rings and channels. */
struct raw_watch {
    struct raw_host *host;
    uint8_t *copy; /* a copy of the whole segment */
    uint32_t peer;
};

/* From now on the peer must not write to it. 0 or -ENOMEM. */
int raw_manners_watch(struct raw_host *host, uint32_t peer, struct raw_watch *out);

/* How many words of 32 bits were, until now; ends the watch. */
uint32_t raw_manners_written(struct raw_watch *watch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* response_batch: answers that are published together. While more requests wait an answer may be
 * held back, until 16 are, 10 us have passed, or nothing waits any more; who waits for it must not
 * wait for a method that runs long besides. How long one runs nobody knows before: so a method is
 * trusted to be short once it has been so 16 times, and before one that is not all that is held is
 * shown.
 *
 * A clock costs as much as a fifth of a small call: it is looked at for what is not trusted, and
 * else for 8 answers at once. r[impl hub.call.batch] */
#ifndef GUEST_SDK_RESPONSE_BATCH_H
#define GUEST_SDK_RESPONSE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#define GUEST_RESPONSE_BATCH_MOST 16
#define GUEST_RESPONSE_BATCH_METHODS \
    64 /* those that share a place are trusted together: a power of two */

struct guest_response_batch {
    uint32_t held;      /* answers since the last one was published */
    uint64_t looked_ns; /* at the clock, while some are */
    uint64_t since;     /* places of the methods that ran since then, as bits */
    uint64_t began_ns;  /* of a method that is not trusted */
    uint8_t trust[GUEST_RESPONSE_BATCH_METHODS]; /* how often it was short, up to enough */
};

/* A request is about to run, and others wait or answers are held: for one alone nothing is called,
 * and no clock is read. True: what is held is to be shown before. */
bool guest_response_batch_begin(struct guest_response_batch *hold, uint64_t method_id);

/* It has run. `waits`: others wait now. True: its answer may be held back. */
bool guest_response_batch_end(struct guest_response_batch *hold, uint64_t method_id, bool waits);

#endif

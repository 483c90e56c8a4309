/* SPDX-License-Identifier: Apache-2.0 */
/* response_batch: responses that are published together. While more requests wait, a response may
 * be held back, until 16 are, 10 us have passed, or no request waits any more. But no caller may
 * wait for the run of another, long method, and the duration of a run is not known before it. So a
 * method is trusted to be short after 16 short runs in a row, and before any other method runs, all
 * held responses are published.
 *
 * Reading a clock costs as much as a fifth of a small call. The clock is read for methods that are
 * not trusted, and otherwise once for 8 responses. Serving thread. r[impl hub.call.batch] */
#ifndef GUEST_SDK_RESPONSE_BATCH_H
#define GUEST_SDK_RESPONSE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#define GUEST_RESPONSE_BATCH_MOST 16
#define GUEST_RESPONSE_BATCH_METHODS \
    64 /* entries of `trust`, a power of two; methods of the same entry are trusted together */

struct guest_response_batch {
    uint32_t held;      /* responses held back since the last publication */
    uint64_t looked_ns; /* the last reading of the clock, while responses are held back */
    uint64_t since;     /* bit i: a method of entry i has run since then */
    uint64_t began_ns;  /* start of a method that is not trusted */
    uint8_t trust[GUEST_RESPONSE_BATCH_METHODS]; /* short runs in a row, up to enough */
};

/* Call it before a request runs, if others wait or responses are held back; for a lone request
 * nothing is called, and no clock is read. True: publish the held responses now. */
bool guest_response_batch_begin(struct guest_response_batch *hold, uint64_t method_id);

/* Call it after the run. `waits` says whether other requests wait now. True: the response may be
 * held back. */
bool guest_response_batch_end(struct guest_response_batch *hold, uint64_t method_id, bool waits);

#endif

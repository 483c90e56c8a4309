/* SPDX-License-Identifier: Apache-2.0 */
/* state_latch: the value of a region of kind STATE_LATCH. A version is written into the buffer
 * after that of the version before, and then named as the latest: so there is a whole value at
 * every moment, wherever a writer dies. A reader tries again only if the writer has come round to
 * its buffer meanwhile. Nothing here waits, sleeps or repairs. r[impl region.state.latch] */
#ifndef HUB_BUS_STATE_LATCH_H
#define HUB_BUS_STATE_LATCH_H

#include <stddef.h>
#include <stdint.h>

#include "hub/bus/state/state_layout.h"

struct hub_state_latch {
    struct hub_region_latch *body;
    uint8_t *buffers;
    uint32_t count, stride, value_bytes;
};

/* By the only writer: writes the next version. `size` is at most `value_bytes`. RAPAHUB_ERETIRED:
 * the versions are used up; RAPAHUB_ECORRUPT. */
int hub_state_latch_write(const struct hub_state_latch *latch, const void *data, size_t size);

/* Tries once: a whole value to `to`, its size and its version. RAPAHUB_EEMPTY, without a diagnosis:
 * none was written yet; -EAGAIN, without a diagnosis: it was replaced meanwhile; -EMSGSIZE: it is
 * longer than `room`, and only its size and version are told; RAPAHUB_ECORRUPT. */
int hub_state_latch_try(const struct hub_state_latch *latch, void *to, size_t room, size_t *size,
                        uint64_t *version);

/* Returns the latest version. */
static inline uint64_t hub_state_latch_version(const struct hub_state_latch *latch)
{
    return hub_observe64(&latch->body->latest) >> 8;
}

#endif

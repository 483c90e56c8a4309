/* SPDX-License-Identifier: Apache-2.0 */
/* state_parity: the value of a region of kind STATE_V1, in one place, with a sequence that is odd
 * while it is written. A writer that dies there leaves it odd, and no value, until another one has
 * written. Nothing here waits, sleeps or repairs. r[impl region.state.torn] */
#ifndef HUB_BUS_STATE_PARITY_H
#define HUB_BUS_STATE_PARITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/bus/state/state_layout.h"

struct hub_state_parity {
    struct hub_region_parity *body;
    uint32_t value_bytes; /* `value` has room for them, and up to the next multiple of 8 */
    struct hub_a64 *value;
};

/* By the only writer: writes the next version. `size` is at most `value_bytes`. RAPAHUB_ERETIRED:
 * the versions are used up. */
int hub_state_parity_write(const struct hub_state_parity *parity, const void *data, size_t size);

/* Tries once: a whole value to `to`, its size and its version. RAPAHUB_EEMPTY, without a diagnosis:
 * none was written yet; -EAGAIN, without a diagnosis: it is being written; -EMSGSIZE: it is longer
 * than `room`, and only its size and version are told; RAPAHUB_ECORRUPT. */
int hub_state_parity_try(const struct hub_state_parity *parity, void *to, size_t room, size_t *size,
                         uint64_t *version);

/* Returns the last version that was written whole. */
static inline uint64_t hub_state_parity_version(const struct hub_state_parity *parity)
{
    return hub_observe64(&parity->body->seq) / 2;
}

/* Says whether a version is begun and not written whole. */
static inline bool hub_state_parity_is_odd(const struct hub_state_parity *parity)
{
    return hub_observe64(&parity->body->seq) % 2 != 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/state/state_parity.h"

#include <inttypes.h>

#include <rapahub/error.h>

/* An odd sequence is that of a writer which died: its version was never seen, and is written now.
 * The fence orders the odd sequence before the bytes for a reader. */
int hub_state_parity_write(const struct hub_state_parity *parity, const void *data, size_t size)
{
    struct hub_region_parity *body = parity->body;
    uint64_t odd = hub_load_relaxed64(&body->seq) | 1;

    if (odd / 2 >= HUB_STATE_VERSION_MAX)
        return rapahub_fail(RAPAHUB_ERETIRED, "region.retired",
                            "the versions of the state are used up");
    hub_publish64(&body->seq, odd);
    hub_fence(&body->changed_flag);
    hub_store_relaxed(&body->len, (uint32_t)size);
    hub_atomic_write_racing(parity->value, data, size);
    hub_publish64(&body->seq, odd + 1);
    return 0;
}

/* Nothing is said of what was copied before it is known to be whole. */
int hub_state_parity_try(const struct hub_state_parity *parity, void *to, size_t room, size_t *size,
                         uint64_t *version)
{
    const struct hub_region_parity *body = parity->body;
    uint64_t seq = hub_observe64(&body->seq);
    uint32_t len;

    if (seq % 2 != 0)
        return RAPAHUB_EAGAIN;
    if (seq == 0)
        return RAPAHUB_EEMPTY;
    len = hub_load_relaxed(&body->len);
    if (len <= parity->value_bytes && len <= room)
        hub_atomic_copy_racing(to, parity->value, len);
    hub_fence_loads();
    if (hub_observe64(&body->seq) != seq)
        return RAPAHUB_EAGAIN;
    if (len > parity->value_bytes)
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.state.torn",
                            "the value has %" PRIu32 " bytes, at most %" PRIu32 " fit", len,
                            parity->value_bytes);
    *size = len;
    *version = seq / 2;
    return len <= room ? 0
                       : rapahub_fail(RAPAHUB_EMSGSIZE, "region.state.torn",
                                      "the value has %" PRIu32 " bytes, and there is room for %zu",
                                      len, room);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* backoff: exponential, factor 2, equal jitter. */
#include "host/supervise/backoff.h"

#include <rapahub/error.h>

int host_backoff_init(struct host_backoff *backoff, uint64_t initial_ns, uint64_t max_ns,
                      uint64_t seed)
{
    if (max_ns < initial_ns)
        return rapahub_fail(RAPAHUB_EINVAL, "", "backoff_max_ns is below backoff_initial_ns");
    *backoff = (struct host_backoff){.initial_ns = initial_ns, .max_ns = max_ns};
    hub_random_init(&backoff->random, seed);
    return 0;
}

/* min(max, initial * 2^doublings), without overflow. */
static uint64_t ceiling(const struct host_backoff *backoff, uint32_t doublings)
{
    if (doublings >= 64 || backoff->initial_ns > backoff->max_ns >> doublings)
        return backoff->max_ns;
    return backoff->initial_ns << doublings;
}

uint64_t host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns)
{
    uint64_t most, half;

    if (ready_ns >= HOST_BACKOFF_RESET_AFTER_NS)
        backoff->failures = 0;
    if (backoff->failures < UINT32_MAX)
        backoff->failures++;
    if (backoff->failures == 1)
        return 0;
    most = ceiling(backoff, backoff->failures - 2);
    half = most / 2;
    return most - half + hub_random_below(&backoff->random, half + 1);
}

void host_backoff_reset(struct host_backoff *backoff)
{
    backoff->failures = 0;
}

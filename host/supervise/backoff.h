/* SPDX-License-Identifier: Apache-2.0 */
/* backoff: how long to wait before a guest is started again. The first restart comes at once; then
 * the delay doubles up to its maximum. Half of it is random, so that many guests that died of one
 * cause do not come back as one. Pure: chance comes from a seed. */
#ifndef HOST_SUPERVISE_BACKOFF_H
#define HOST_SUPERVISE_BACKOFF_H

#include <stdint.h>

#include "hub/base/random.h"

/* A life that served so long without a break begins the series anew. */
#define HOST_BACKOFF_RESET_AFTER_NS UINT64_C(60000000000)

struct host_backoff {
    uint64_t initial_ns, max_ns;
    uint32_t failures; /* since the series began */
    struct hub_random random;
};

/* -EINVAL where the maximum is below the first delay. */
int host_backoff_init(struct host_backoff *backoff, uint64_t initial_ns, uint64_t max_ns,
                      uint64_t seed);

/* Counts a failure of a life that had been ready for `ready_ns`, 0 if it never was. Returns the
 * delay: 0 for the first of a series, then from d/2 to d, where d = min(max, initial * 2^n). */
uint64_t host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns);

/* Begins the series anew: somebody asked for the start. */
void host_backoff_reset(struct host_backoff *backoff);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* backoff: the delay before a child is restarted. By default the first restart comes at once; then
 * the delay grows up to its maximum. A part of it is random, so that children that died of the same
 * cause do not all come back together. Pure: the random numbers come from a seed. */
#ifndef HOST_SUPERVISE_BACKOFF_H
#define HOST_SUPERVISE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

#include "hub/base/random.h"

struct host_backoff {
    uint64_t initial_ns, max_ns, reset_after_ns;
    double factor;  /* from one delay to the next */
    uint32_t steps; /* restarts after which the maximum is reached; 0: the factor decides */
    bool first_immediate;
    enum rapahub_jitter jitter;
    double share;
    uint32_t failures; /* in the current series */
    uint64_t last_ns;  /* the previous delay */
    struct hub_random random;
};

/* `how` must have passed lint. */
void host_backoff_init(struct host_backoff *backoff, const struct rapahub_supervision *how,
                       uint64_t seed);

/* Counts the failure of a life that was ready for `ready_ns`, 0 if it never was. Returns the delay
 * in nanoseconds, at most max_ns. r[impl supervise.backoff] */
uint64_t host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns);

/* Begins a new series, because the start was requested explicitly. */
void host_backoff_reset(struct host_backoff *backoff);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* backoff: how long to wait before a child is started again. Unless asked otherwise, the first
 * restart comes at once; then the delay grows up to its maximum. Part of it is random, so that many
 * children that died of one cause do not come back as one. Pure: chance comes from a seed. */
#ifndef HOST_SUPERVISE_BACKOFF_H
#define HOST_SUPERVISE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

#include "hub/base/random.h"

struct host_backoff {
    uint64_t initial_ns, max_ns, reset_after_ns;
    double factor;  /* from one delay to the next */
    uint32_t steps; /* at which the maximum is reached; 0: when the factor says so */
    bool first_immediate;
    enum rapahub_jitter jitter;
    double share;
    uint32_t failures; /* since the series began */
    uint64_t last_ns;  /* the delay given last */
    struct hub_random random;
};

/* `how` has passed lint. */
void host_backoff_init(struct host_backoff *backoff, const struct rapahub_supervision *how,
                       uint64_t seed);

/* Counts a failure of a life that had been ready for `ready_ns`, 0 if it never was. Returns the
 * delay, at most max_ns. r[impl supervise.backoff] */
uint64_t host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns);

/* Begins the series anew: somebody asked for the start. */
void host_backoff_reset(struct host_backoff *backoff);

#endif

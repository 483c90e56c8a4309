/* SPDX-License-Identifier: Apache-2.0 */
/* pace: limits how many children start at once and how many in a second, with a token bucket.
 * Pure. */
#ifndef HOST_SUPERVISE_PACE_H
#define HOST_SUPERVISE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct host_pace {
    uint32_t parallel_max; /* children that start at the same time */
    uint32_t burst;        /* tokens in a full bucket */
    uint64_t each_ns;      /* time in which a token returns; 0: no limit */
    uint32_t tokens;
    uint64_t since_ns; /* the time from which the next token grows */
};

void host_pace_init(struct host_pace *pace, uint32_t parallel_max, uint32_t burst,
                    uint64_t each_ns);

/* Says whether a child may start now, while `starting` others do. Takes no token. */
bool host_pace_allows(struct host_pace *pace, uint32_t starting, uint64_t now_ns);

/* Takes a token: a child starts. */
void host_pace_take(struct host_pace *pace, uint64_t now_ns);

/* Returns the time of the next token; 0: there is one. */
uint64_t host_pace_due(const struct host_pace *pace);

#endif

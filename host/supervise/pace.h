/* SPDX-License-Identifier: Apache-2.0 */
/* pace: how many children may start at once, and how many in a second: a bucket of tokens. Pure. */
#ifndef HOST_SUPERVISE_PACE_H
#define HOST_SUPERVISE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct host_pace {
    uint32_t parallel_max; /* that start at once */
    uint32_t burst;        /* tokens when it is full */
    uint64_t each_ns;      /* one token comes back in so long; 0: no limit */
    uint32_t tokens;
    uint64_t since_ns; /* the next token grows since then */
};

void host_pace_init(struct host_pace *pace, uint32_t parallel_max, uint32_t burst,
                    uint64_t each_ns);

/* May one start now, with so many that do? It is not taken. */
bool host_pace_allows(struct host_pace *pace, uint32_t starting, uint64_t now_ns);

/* One starts. */
void host_pace_take(struct host_pace *pace, uint64_t now_ns);

/* When the next token is there; 0: there is one. */
uint64_t host_pace_due(const struct host_pace *pace);

#endif

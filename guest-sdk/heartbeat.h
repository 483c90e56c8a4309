/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat: a thread that writes one word, to show that this process gets the CPU. */
#ifndef GUEST_SDK_HEARTBEAT_H
#define GUEST_SDK_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>

#include "hub/shm/layout.h"

struct guest_heartbeat {
    pthread_t thread;
    bool runs;
    struct hub_a32 stop;
    struct hub_a64 *word;
    uint64_t span_ns; /* between two beats: half of the host's interval */
};

/* Beats every half `interval_ns`; 0: never. -errno where there can be no thread.
 * r[impl shm.crash.heartbeat] r[impl shm.crash.heartbeat-clock] */
int guest_heartbeat_start(struct guest_heartbeat *heartbeat, struct hub_a64 *word,
                          uint64_t interval_ns);
void guest_heartbeat_stop(struct guest_heartbeat *heartbeat);

#endif

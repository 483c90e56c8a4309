/* SPDX-License-Identifier: Apache-2.0 */
/* probes: asks a guest how it is, where its options say so, and does what follows: it serves, is
 * degraded, or is stuck. Nobody waits for an answer. Owner. */
#ifndef HOST_PROBES_H
#define HOST_PROBES_H

#include "host/owner/loop.h"
#include "host/supervise/probe.h"

struct host_life;

/* Of one life; its memory is the life's. */
struct host_probes {
    struct host_probe_set set;
    struct host_timer timer;
    struct host_probes_seat {
        struct host_life *life;
        enum host_probe_kind kind;
    } seats[HOST_PROBE_KINDS]; /* whose question it is */
};

/* Its containers have begun: it is asked from now on. True: it is ready by that alone. */
bool host_probes_begin(struct host_life *life);

/* It goes, or is dead. Harmless where it is not asked. */
void host_probes_end(struct host_life *life);

#endif

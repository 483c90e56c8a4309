/* SPDX-License-Identifier: Apache-2.0 */
/* monitors: guests that are told of the ends of other children. A monitor lasts over the lives of
 * both. Ends that its watcher could not be told yet are kept as one: the last, with their count.
 * Owner. */
#ifndef HOST_OBSERVE_MONITORS_H
#define HOST_OBSERVE_MONITORS_H

#include "host/owner/loop.h"
#include "host/supervise/machine.h"

struct host_observe;

struct host_monitors {
    struct hub_list list;
    uint32_t count;
    struct host_timer again; /* for a watcher without space for a message now */
};

void host_monitors_init(struct host_monitors *monitors);
void host_monitors_fini(struct host_monitors *monitors);

/* A child's state has changed. An end is noted, and told to watchers that are ready or become ready
 * now. */
void host_monitors_moved(struct host_observe *host, const struct host_decision *decision);

#endif

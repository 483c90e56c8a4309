/* SPDX-License-Identifier: Apache-2.0 */
/* routes: the lock of what calls look up to find their way: containers, the records of guests, and
 * their methods. The owner changes these under the lock of a writer, other threads look under that
 * of a reader. It is the first in the order of locks: see hub/base/mutex.h.
 *
 * Two counters go with it. `version` counts the times that somebody locked to change: what was
 * found under the lock of a reader is as it was while `version` is the same. `changes` counts what
 * a waiting thread may want to know: that a guest or a container came into another state. */
#ifndef HOST_REGISTRY_ROUTES_H
#define HOST_REGISTRY_ROUTES_H

#include <pthread.h>
#include <stdint.h>

#include "hub/base/atomic.h"

struct host_routes {
    pthread_rwlock_t lock;
    struct hub_a32 version; /* never 0 */
    struct hub_a32 changes;
};

void host_routes_init(struct host_routes *routes);
void host_routes_fini(struct host_routes *routes);

/* Any thread; a writer counts `version` on before it changes anything. */
void host_routes_read(struct host_routes *routes);
void host_routes_write(struct host_routes *routes);
void host_routes_unlock(struct host_routes *routes);

/* Wakes all that wait for a change; any thread. */
void host_routes_announce(struct host_routes *routes);

/* Returns when `changes` is not `seen` any more, at most after `deadline_ns`, or earlier: its
 * caller looks again. Any thread. */
void host_routes_wait(struct host_routes *routes, uint32_t seen, uint64_t deadline_ns);

#endif

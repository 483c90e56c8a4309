/* SPDX-License-Identifier: Apache-2.0 */
/* routes: the lock of the tables by which calls find their target: containers, the records of
 * guests, and their methods. The owner changes them under the write lock; other threads read them
 * under the read lock. It is the first in the order of locks: see hub/base/mutex.h.
 *
 * Two counters belong to it. `version` counts the write locks: a result found under the read lock
 * holds as long as `version` is the same. `changes` counts changes of state of guests and
 * containers, for threads that wait for one.
 */
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

/* Lock and unlock. A writer increments `version` before it changes anything. Any thread. */
void host_routes_read(struct host_routes *routes);
void host_routes_write(struct host_routes *routes);
void host_routes_unlock(struct host_routes *routes);

/* Makes every result that was found before be looked up again, although nothing of the tables has
 * changed. Any thread. */
void host_routes_expire(struct host_routes *routes);

/* Wakes all threads that wait for a change. Any thread. */
void host_routes_announce(struct host_routes *routes);

/* Returns when `changes` differs from `seen`, at `deadline_ns`, or earlier: the caller checks
 * again. Any thread. */
void host_routes_wait(struct host_routes *routes, uint32_t seen, uint64_t deadline_ns);

#endif

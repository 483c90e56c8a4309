/* SPDX-License-Identifier: Apache-2.0 */
#include "host/registry/routes.h"

#include "hub/base/futex.h"
#include "hub/base/lock_rank.h"
#include "hub/base/mutex.h"

void host_routes_init(struct host_routes *routes)
{
    pthread_rwlock_init(&routes->lock, NULL);
    hub_store_relaxed(&routes->version, 1);
    hub_store_relaxed(&routes->changes, 0);
}

void host_routes_fini(struct host_routes *routes)
{
    pthread_rwlock_destroy(&routes->lock);
}

void host_routes_read(struct host_routes *routes)
{
    hub_lock_rank_enter(HUB_MUTEX_ROUTES);
    pthread_rwlock_rdlock(&routes->lock);
}

void host_routes_expire(struct host_routes *routes)
{
    if (hub_add(&routes->version, 1) == UINT32_MAX)
        hub_add(&routes->version, 1); /* 0 is a version that was never seen */
    hub_fence(&routes->version);
}

void host_routes_write(struct host_routes *routes)
{
    hub_lock_rank_enter(HUB_MUTEX_ROUTES);
    pthread_rwlock_wrlock(&routes->lock);
    host_routes_expire(routes);
}

void host_routes_unlock(struct host_routes *routes)
{
    pthread_rwlock_unlock(&routes->lock);
    hub_lock_rank_leave(HUB_MUTEX_ROUTES);
}

void host_routes_announce(struct host_routes *routes)
{
    hub_add(&routes->changes, 1);
    hub_futex_wake_private(&routes->changes);
}

void host_routes_wait(struct host_routes *routes, uint32_t seen, uint64_t deadline_ns)
{
    hub_futex_wait_private(&routes->changes, seen, deadline_ns);
}

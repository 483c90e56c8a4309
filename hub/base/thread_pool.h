/* SPDX-License-Identifier: Apache-2.0 */
/* thread_pool: a thread pool for occasional work. Starting and joining a thread takes longer than
 * much of this work, so a thread that is done waits a second for more. */
#ifndef HUB_BASE_THREAD_POOL_H
#define HUB_BASE_THREAD_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"

struct hub_thread_pool_member;

struct hub_thread_pool {
    struct hub_mutex lock;
    struct hub_thread_pool_member *all GUARDED_BY(lock);
    struct hub_thread_pool_member *idle GUARDED_BY(lock); /* most recently used first */
    uint32_t idle_count GUARDED_BY(lock);
    bool closing GUARDED_BY(lock);
};

/* Makes a pool without threads. Before the first use, on one thread. */
void hub_thread_pool_init(struct hub_thread_pool *pool);

/* Runs work(user) soon, on a thread with all signals blocked. Returns 0, the error of
 * pthread_create (-EAGAIN, without a diagnosis), -ENOMEM, or -ECANCELED after fini. The work
 * reports its own end. Any thread. */
int hub_thread_pool_run(struct hub_thread_pool *pool, void (*work)(void *user), void *user);

/* Waits until all threads have left. No more work may be given. Must not be called from work of the
 * pool. */
void hub_thread_pool_fini(struct hub_thread_pool *pool);

#endif

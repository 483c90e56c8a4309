/* SPDX-License-Identifier: Apache-2.0 */
/* crew: a thread pool for occasional work. Starting and joining a thread takes longer than much of
 * this work, so a thread that is done waits a second for more. */
#ifndef HUB_BASE_CREW_H
#define HUB_BASE_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"

struct hub_crew_member;

struct hub_crew {
    struct hub_mutex lock;
    struct hub_crew_member *all GUARDED_BY(lock);
    struct hub_crew_member *idle GUARDED_BY(lock); /* most recently used first */
    uint32_t idle_count GUARDED_BY(lock);
    bool closing GUARDED_BY(lock);
};

/* Makes a pool without threads. Before the first use, on one thread. */
void hub_crew_init(struct hub_crew *crew);

/* Runs work(user) soon, on a thread with all signals blocked. Returns 0, the error of
 * pthread_create (-EAGAIN, without a diagnosis), -ENOMEM, or -ECANCELED after fini. The work
 * reports its own end. Any thread. */
int hub_crew_run(struct hub_crew *crew, void (*work)(void *user), void *user);

/* Waits until all threads have left. No more work may be given. Must not be called from work of the
 * pool. */
void hub_crew_fini(struct hub_crew *crew);

#endif

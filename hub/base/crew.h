/* SPDX-License-Identifier: Apache-2.0 */
/* crew: threads for work that comes now and then. To begin and to join one takes longer than much
 * of what they are for, so who is done waits a second for more. Zeroed: without any. */
#ifndef HUB_BASE_CREW_H
#define HUB_BASE_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/mutex.h"

struct hub_crew_member;

struct hub_crew {
    struct hub_mutex lock;
    struct hub_crew_member *all GUARDED_BY(lock);
    struct hub_crew_member *idle GUARDED_BY(lock); /* the last that was done, first */
    uint32_t idle_count GUARDED_BY(lock);
    bool closing GUARDED_BY(lock);
};

/* work(user) begins soon, on a thread with all signals blocked: 0, or what pthread_create says
 * (-EAGAIN, without a diagnosis), -ENOMEM; -ECANCELED behind fini. Any thread. It tells its end by
 * itself. */
int hub_crew_run(struct hub_crew *crew, void (*work)(void *user), void *user);

/* Waits until all have left; nothing may be given to it any more. Not from work of its own. */
void hub_crew_fini(struct hub_crew *crew);

#endif

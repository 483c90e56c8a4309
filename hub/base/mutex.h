/* SPDX-License-Identifier: Apache-2.0 */
/* mutex: names what it guards, so that clang checks it. Held for a few lines, never over a wait or
 * a callback. Order of locks: routes, then send, then calls, then the log's sink. */
#ifndef HUB_BASE_MUTEX_H
#define HUB_BASE_MUTEX_H

#include <pthread.h>

#include "hub/base/check.h"

#if defined(__clang__)
#define HUB_MUTEX_MARK(mark) __attribute__((mark))
#else
#define HUB_MUTEX_MARK(mark)
#endif

/* On a member: for the reader. clang checks members of C structs from version 20 on only; REQUIRES,
 * on functions, it checks today. */
#define GUARDED_BY(mutex)
#define REQUIRES(mutex) HUB_MUTEX_MARK(requires_capability(mutex))

struct HUB_MUTEX_MARK(capability("mutex")) hub_mutex {
    pthread_mutex_t raw;
};

static inline void hub_mutex_lock(struct hub_mutex *mutex)
    HUB_MUTEX_MARK(acquire_capability(*mutex)) HUB_MUTEX_MARK(no_thread_safety_analysis);
static inline void hub_mutex_unlock(struct hub_mutex *mutex)
    HUB_MUTEX_MARK(release_capability(*mutex)) HUB_MUTEX_MARK(no_thread_safety_analysis);

static inline void hub_mutex_init(struct hub_mutex *mutex)
{
    CHECK(pthread_mutex_init(&mutex->raw, NULL) == 0);
}

static inline void hub_mutex_fini(struct hub_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->raw);
}

static inline void hub_mutex_lock(struct hub_mutex *mutex)
{
    CHECK(pthread_mutex_lock(&mutex->raw) == 0);
}

static inline void hub_mutex_unlock(struct hub_mutex *mutex)
{
    CHECK(pthread_mutex_unlock(&mutex->raw) == 0);
}

#endif

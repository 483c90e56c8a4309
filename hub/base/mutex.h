/* SPDX-License-Identifier: Apache-2.0 */
/* mutex: names what it guards, so that clang checks it. Held for a few lines, never over a wait or
 * a callback. One word and a futex, so that nothing is called where nobody else holds it: a call
 * takes several (docs/adr/0012). Order of locks: routes, then the link's, which is that of its
 * calls too, then those of channels and of slots, then the log's sink. */
#ifndef HUB_BASE_MUTEX_H
#define HUB_BASE_MUTEX_H

#include "hub/base/atomic.h"

#if defined(__clang__)
#define HUB_MUTEX_MARK(mark) __attribute__((mark))
#else
#define HUB_MUTEX_MARK(mark)
#endif

/* On a member: for the reader. clang checks members of C structs from version 20 on only; REQUIRES,
 * on functions, it checks today. */
#define GUARDED_BY(mutex)
#define REQUIRES(mutex) HUB_MUTEX_MARK(requires_capability(mutex))

/* Before a function that takes a lock by one name and calls what asks for it by another: clang
 * cannot know that these are one. */
#define UNCHECKED HUB_MUTEX_MARK(no_thread_safety_analysis)

struct HUB_MUTEX_MARK(capability("mutex")) hub_mutex {
    struct hub_a32 word; /* enum hub_mutex_state */
};

static inline void hub_mutex_lock(struct hub_mutex *mutex)
    HUB_MUTEX_MARK(acquire_capability(*mutex)) HUB_MUTEX_MARK(no_thread_safety_analysis);
static inline void hub_mutex_unlock(struct hub_mutex *mutex)
    HUB_MUTEX_MARK(release_capability(*mutex)) HUB_MUTEX_MARK(no_thread_safety_analysis);

static inline void hub_mutex_unlock_and_settle(struct hub_mutex *mutex, struct hub_a32 *word)
    HUB_MUTEX_MARK(release_capability(*mutex)) HUB_MUTEX_MARK(no_thread_safety_analysis);

enum hub_mutex_state {
    HUB_MUTEX_FREE,
    HUB_MUTEX_HELD,
    HUB_MUTEX_WANTED /* held, and waited for */
};

/* Where another thread holds it, and where one waits for it, which is what it `was`. One that
 * nobody held is a broken promise: who gives it back did not take it. */
void hub_mutex_wait(struct hub_mutex *mutex);
void hub_mutex_pass(struct hub_mutex *mutex, uint32_t was);

static inline void hub_mutex_init(struct hub_mutex *mutex)
{
    hub_note(&mutex->word, HUB_MUTEX_FREE);
}

static inline void hub_mutex_fini(struct hub_mutex *mutex)
{
    (void)mutex;
}

static inline void hub_mutex_lock(struct hub_mutex *mutex)
{
    if (__builtin_expect(!hub_claim(&mutex->word, HUB_MUTEX_FREE, HUB_MUTEX_HELD), 0))
        hub_mutex_wait(mutex);
}

/* The same, and the fence in front of a look at `word` for who sleeps. */
static inline void hub_mutex_unlock_and_settle(struct hub_mutex *mutex, struct hub_a32 *word)
{
    uint32_t was = hub_exchange_and_settle(&mutex->word, HUB_MUTEX_FREE, word);

    if (__builtin_expect(was != HUB_MUTEX_HELD, 0))
        hub_mutex_pass(mutex, was);
}

static inline void hub_mutex_unlock(struct hub_mutex *mutex)
{
    uint32_t was = hub_exchange(&mutex->word, HUB_MUTEX_FREE);

    if (__builtin_expect(was != HUB_MUTEX_HELD, 0))
        hub_mutex_pass(mutex, was);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* mutex: a lock that clang's thread safety analysis checks. It is held for a few lines, never
 * during a wait or a callback. It is one word and a futex, so an uncontended lock calls no
 * function: a call locks several of them (docs/adr/0012).
 *
 * HUB_MUTEX_ORDER is the order of all locks of the product. A thread that holds one acquires only
 * locks that come later in the list, so threads cannot wait for each other in a circle. Debug and
 * sanitizer builds check this at each lock (hub/base/lock_rank.h); in other builds a mutex has no
 * rank. */
#ifndef HUB_BASE_MUTEX_H
#define HUB_BASE_MUTEX_H

#include "hub/base/atomic.h"
#include "hub/base/lock_rank.h"

#if defined(__clang__)
#define HUB_MUTEX_MARK(mark) __attribute__((mark))
#else
#define HUB_MUTEX_MARK(mark)
#endif

/* GUARDED_BY, on a member, is only for the reader: clang checks members of C structs from version
 * 20 on. REQUIRES, on a function, is checked today. */
#define GUARDED_BY(mutex)
#define REQUIRES(mutex) HUB_MUTEX_MARK(requires_capability(mutex))

/* For a function that locks a mutex by one name and calls a function that requires it by another
 * name: clang cannot know that both are the same mutex. */
#define UNCHECKED HUB_MUTEX_MARK(no_thread_safety_analysis)

/* The name of a rank, and what its lock guards; the outermost lock first. */
#define HUB_MUTEX_ORDER(X)                                                                    \
    X(THREAD_ENDS, "ends of threads")                                                         \
    X(ROUTES, "routes of a host") /* a lock of readers and writers: host/registry/routes.h */ \
    X(TASKS, "tasks of a host")                                                               \
    X(ASYNCS, "asynchronous calls of a host")                                                 \
    X(CALLERS, "callers of a host")                                                           \
    X(LOANS, "loans of a host")                                                               \
    X(LEASE, "lease of a host")                                                               \
    X(FREE_LIST, "free list of a host")                                                       \
    X(LOOKOUT, "lookout of a host")                                                           \
    X(FUTEXES, "futexes of a host")                                                           \
    X(INBOUND_CALLS, "inbound calls of a link")                                               \
    X(LINK, "link") /* its ring and the calls sent through it */                              \
    X(CHANNELS, "channels of a link")                                                         \
    X(STREAM_PAIR, "stream pair")                                                             \
    X(SLOT_CACHE, "slot cache")                                                               \
    X(SLOT_ARRIVALS, "slot arrivals")                                                         \
    X(ROLE_ARRIVALS, "descriptors of roles")                                                  \
    X(SLOT_ALLOCATOR, "slot allocator")                                                       \
    X(SLOT_POOL, "slot pool")                                                                 \
    X(THREAD_POOL, "thread pool")                                                             \
    X(METASTORE, "metastore")                                                                 \
    X(STORE_THREAD, "thread of the disk of a node")                                           \
    X(CLIENT, "calls of a client of a node")                                                  \
    X(CLIENT_THREADS, "threads of a client of a node")                                        \
    X(REGION, "handles of a region")                                                          \
    X(CLOSER, "closer")                                                                       \
    X(LOG, "log") /* of pthread: hub/base/log.c; held while a program's sink runs */          \
    X(LINES, "lines of a control socket") /* the sink of rapahub run adds to them */

#define HUB_MUTEX_RANK(name, text) HUB_MUTEX_##name,
enum hub_mutex_rank { HUB_MUTEX_UNRANKED, HUB_MUTEX_ORDER(HUB_MUTEX_RANK) HUB_MUTEX_RANKS_COUNT };
#undef HUB_MUTEX_RANK

struct HUB_MUTEX_MARK(capability("mutex")) hub_mutex {
    struct hub_a32 word; /* enum hub_mutex_state */
#ifdef HUB_MUTEX_RANKS
    enum hub_mutex_rank rank;
#endif
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
    HUB_MUTEX_WANTED /* held, and perhaps other threads wait for it */
};

/* The slow paths of lock and unlock. Any thread. hub_mutex_wait locks a mutex that another thread
 * holds. hub_mutex_pass wakes a waiting thread after an unlock; `was` is the state before it. An
 * unlock of a mutex that was not held ends the process. */
void hub_mutex_wait(struct hub_mutex *mutex);
void hub_mutex_pass(struct hub_mutex *mutex, uint32_t was);

#ifdef HUB_MUTEX_RANKS
#define HUB_MUTEX_RANK_OF(mutex) ((mutex)->rank)
#else
#define HUB_MUTEX_RANK_OF(mutex) HUB_MUTEX_UNRANKED
#endif

static inline void hub_mutex_init(struct hub_mutex *mutex, enum hub_mutex_rank rank)
{
    hub_store_relaxed(&mutex->word, HUB_MUTEX_FREE);
#ifdef HUB_MUTEX_RANKS
    mutex->rank = rank;
#else
    (void)rank;
#endif
}

static inline void hub_mutex_fini(struct hub_mutex *mutex)
{
    (void)mutex;
}

static inline void hub_mutex_lock(struct hub_mutex *mutex)
{
    hub_lock_rank_enter(HUB_MUTEX_RANK_OF(mutex));
    if (__builtin_expect(!hub_claim(&mutex->word, HUB_MUTEX_FREE, HUB_MUTEX_HELD), 0))
        hub_mutex_wait(mutex);
}

/* Unlocks, with a full fence before the caller reads `word` to see whether a thread sleeps. */
static inline void hub_mutex_unlock_and_settle(struct hub_mutex *mutex, struct hub_a32 *word)
{
    uint32_t was;

    hub_lock_rank_leave(HUB_MUTEX_RANK_OF(mutex));
    was = hub_exchange_and_fence(&mutex->word, HUB_MUTEX_FREE, word);
    if (__builtin_expect(was != HUB_MUTEX_HELD, 0))
        hub_mutex_pass(mutex, was);
}

static inline void hub_mutex_unlock(struct hub_mutex *mutex)
{
    uint32_t was;

    hub_lock_rank_leave(HUB_MUTEX_RANK_OF(mutex));
    was = hub_exchange(&mutex->word, HUB_MUTEX_FREE);
    if (__builtin_expect(was != HUB_MUTEX_HELD, 0))
        hub_mutex_pass(mutex, was);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* slow_end: a thread that ends stops where its destructor has begun and done nothing yet, until it
 * is let go. The program is linked with --wrap=pthread_key_create. */
#ifndef TESTS_SUPPORT_SLOW_END_H
#define TESTS_SUPPORT_SLOW_END_H

#include <pthread.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "tests/support/testing.h"

static struct hub_a32 slow_end_wanted, slow_end_begun, slow_end_let_go;
static void (*slow_end_real)(void *value);

static inline void slow_end_wait(struct hub_a32 *word)
{
    uint64_t deadline = hub_clock_after(60 * HUB_SECOND);

    while (hub_observe(word) == 0 && hub_clock_left(deadline) > 0)
        (void)hub_futex_wait_private(word, 0, deadline);
}

static inline void slow_end_tell(struct hub_a32 *word)
{
    hub_publish(word, 1);
    hub_futex_wake_private(word);
}

static inline void slow_end(void *value)
{
    if (hub_observe(&slow_end_wanted) != 0) {
        slow_end_tell(&slow_end_begun);
        slow_end_wait(&slow_end_let_go);
    }
    slow_end_real(value);
}

int __real_pthread_key_create(pthread_key_t *key, void (*destructor)(void *value));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *value));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *value))
{
    if (!destructor)
        return __real_pthread_key_create(key, NULL);
    slow_end_real = destructor;
    return __real_pthread_key_create(key, slow_end);
}

/* Starts a thread that does this and ends. Returns when it is in its destructor. */
static inline pthread_t slow_end_begin(void *(*use)(void *user), void *user)
{
    pthread_t thread;

    hub_store_relaxed(&slow_end_wanted, 1);
    assert_int_equal(pthread_create(&thread, NULL, use, user), 0);
    slow_end_wait(&slow_end_begun);
    assert_int_equal(hub_observe(&slow_end_begun), 1);
    return thread;
}

static inline void slow_end_finish(pthread_t thread)
{
    slow_end_tell(&slow_end_let_go);
    assert_int_equal(pthread_join(thread, NULL), 0);
    hub_store_relaxed(&slow_end_wanted, 0);
}

#endif

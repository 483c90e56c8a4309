/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/mutex.h"

#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"

/* A thread that has waited locks the mutex as WANTED: it cannot know whether others still wait, and
 * one wake-up too many costs less than one too few. */
__attribute__((noinline)) void hub_mutex_wait(struct hub_mutex *mutex)
{
    while (hub_exchange(&mutex->word, HUB_MUTEX_WANTED) != HUB_MUTEX_FREE)
        (void)hub_futex_wait_private(&mutex->word, HUB_MUTEX_WANTED, HUB_NEVER);
}

__attribute__((noinline)) void hub_mutex_pass(struct hub_mutex *mutex, uint32_t was)
{
    CHECK(was == HUB_MUTEX_WANTED);
    hub_futex_wake_one_private(&mutex->word);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* lock_rank: checks that each thread acquires locks in the order of hub/base/mutex.h, if
 * HUB_MUTEX_RANKS is defined (CMake's RAPAHUB_LOCK_RANKS: debug and sanitizer builds); otherwise
 * these functions do nothing. A hub_mutex calls them itself; the code of any other lock calls them
 * next to its own functions. */
#ifndef HUB_BASE_LOCK_RANK_H
#define HUB_BASE_LOCK_RANK_H

#include <stdint.h>

/* Call hub_lock_rank_enter before the calling thread acquires a lock of this rank, an enum
 * hub_mutex_rank, and hub_lock_rank_leave when it releases one. Acquiring a lock while the thread
 * holds one of the same rank or of a later one ends the process, with a line on standard error that
 * names both. Any thread; each has its own list of ranks. */
#ifdef HUB_MUTEX_RANKS
void hub_lock_rank_enter(uint32_t rank);
void hub_lock_rank_leave(uint32_t rank);
#else
static inline void hub_lock_rank_enter(uint32_t rank)
{
    (void)rank;
}

static inline void hub_lock_rank_leave(uint32_t rank)
{
    (void)rank;
}
#endif

#endif

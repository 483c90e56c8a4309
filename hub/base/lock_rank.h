/* SPDX-License-Identifier: Apache-2.0 */
/* lock_rank: each thread takes locks in the order of hub/base/mutex.h. Checked where
 * HUB_MUTEX_RANKS is defined (CMake's RAPAHUB_LOCK_RANKS: debug and sanitizer builds); elsewhere
 * these are nothing. A hub_mutex calls them by itself; any other lock calls them next to its own
 * functions. */
#ifndef HUB_BASE_LOCK_RANK_H
#define HUB_BASE_LOCK_RANK_H

#include <stdint.h>

/* The calling thread is about to take a lock of this rank, an enum hub_mutex_rank, or has given one
 * back. A lock that is taken while one of the same rank or of a later one is held ends the process:
 * a line on standard error names both. Any thread; the ranks of each are its own. */
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

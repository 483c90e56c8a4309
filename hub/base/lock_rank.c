/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/lock_rank.h"

#include "hub/base/mutex.h"

#ifdef HUB_MUTEX_RANKS
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HELD_MOST 8

/* The ranks of the locks that a thread holds, in the order in which it acquired them. */
static _Thread_local struct {
    uint32_t ranks[HELD_MOST];
    unsigned count;
} held;

#define NAME(name, text) [HUB_MUTEX_##name] = text,
static const char *const names[HUB_MUTEX_RANKS_COUNT] = {HUB_MUTEX_ORDER(NAME)};
#undef NAME

/* Prints the two locks and aborts. It uses neither the log nor CHECK, which logs: the lock of the
 * log may be one of the two. */
_Noreturn static void end(uint32_t rank, const char *what, uint32_t other)
{
    dprintf(STDERR_FILENO, "error locks: '%s' is %s '%s' (order: hub/base/mutex.h)\n",
            rank < HUB_MUTEX_RANKS_COUNT && names[rank] ? names[rank] : "a lock without a rank",
            what, names[other] ? names[other] : "no other");
    abort();
}

void hub_lock_rank_enter(uint32_t rank)
{
    if (rank == HUB_MUTEX_UNRANKED || rank >= HUB_MUTEX_RANKS_COUNT || held.count == HELD_MOST)
        end(rank, "taken, with", held.count ? held.ranks[held.count - 1] : HUB_MUTEX_UNRANKED);
    for (unsigned i = 0; i < held.count; i++)
        if (held.ranks[i] >= rank)
            end(rank, "taken by a thread that holds", held.ranks[i]);
    held.ranks[held.count++] = rank;
}

void hub_lock_rank_leave(uint32_t rank)
{
    unsigned i = 0;

    while (i < held.count && held.ranks[i] != rank)
        i++;
    if (i == held.count)
        end(rank, "given back by a thread that does not hold it, but", HUB_MUTEX_UNRANKED);
    for (held.count--; i < held.count; i++)
        held.ranks[i] = held.ranks[i + 1];
}
#endif

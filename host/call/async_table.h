/* SPDX-License-Identifier: Apache-2.0 */
/* async_table: the calls nobody waits for, by number, and the pieces of memory of those that have
 * ended, kept for the next ones: nothing is allocated while as many end as begin. Everything here
 * is under the lock of asyncs. */
#ifndef HOST_CALL_ASYNC_TABLE_H
#define HOST_CALL_ASYNC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Places: for the host's own calls, which no guest can take; for requests of guests, in equal
 * shares; and for requests that go on for a while, up to a second, though their guest has ended. */
#define HOST_ASYNC_TABLE_OWN    16384
#define HOST_ASYNC_TABLE_GUESTS 16384
#define HOST_ASYNC_TABLE_MAX    65536

struct host_async;

/* Its index stands in the low bits of the number of the call that has it. */
struct host_async_place {
    struct host_async *async; /* NULL: free */
    uint64_t turn;            /* calls that have had it */
    uint32_t next;            /* the next free one, + 1; 0: none */
};

struct host_async_table {
    struct host_async_place *places;
    uint32_t begun;           /* places ever taken */
    uint32_t free;            /* one of them, + 1; 0: none */
    uint32_t own, foreign;    /* calls in it */
    struct host_async *spare; /* pieces: as many at most as one guest has calls */
    uint32_t spare_count;
};

int host_async_table_open(struct host_async_table *table);
void host_async_table_close(struct host_async_table *table); /* frees the spare pieces */

/* Requests that one of so many guests may have under way to others: 64 at the least. */
static inline uint32_t host_async_table_share(uint32_t guests_max)
{
    return HOST_ASYNC_TABLE_GUESTS / guests_max;
}

/* Gives the call its number, which is never 0 and never used again: false where all places of its
 * kind are taken. */
bool host_async_table_enter(struct host_async_table *table, struct host_async *async);

/* From here on its number is nobody's, and what a cancel writes and reads in it is as in a new one;
 * harmless for one that was not entered. */
void host_async_table_leave(struct host_async_table *table, struct host_async *async);

/* NULL where no call has this number. */
struct host_async *host_async_table_find(const struct host_async_table *table, uint64_t number);

/* A spare piece, entered; NULL where there is none. */
struct host_async *host_async_table_take(struct host_async_table *table);

/* The same for several, at most: a chain by `next`, in no order. */
struct host_async *host_async_table_take_some(struct host_async_table *table, uint32_t most);

/* False where enough are kept: it is the caller's, to be freed. */
bool host_async_table_keep(struct host_async_table *table, struct host_async *piece);

/* Every call of the table counts as cancelled. */
void host_async_table_give_up(struct host_async_table *table);

#endif

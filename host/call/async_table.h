/* SPDX-License-Identifier: Apache-2.0 */
/* async_table: the asynchronous calls by number, and the pieces of memory of calls that have ended,
 * which are kept for later calls: nothing is allocated while as many calls end as begin. The lock
 * of asyncs protects everything here: each function is called under it. */
#ifndef HOST_CALL_ASYNC_TABLE_H
#define HOST_CALL_ASYNC_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Entries of the table. The host's own calls have a share that no guest can use. Requests of guests
 * have equal shares, and so have those of admitted guests, of as many entries. The rest is for
 * requests that go on, for up to a second, after their guest has ended. */
#define HOST_ASYNC_TABLE_OWN    16384
#define HOST_ASYNC_TABLE_GUESTS 16384
#define HOST_ASYNC_TABLE_MAX    65536

struct host_async;

/* The index of an entry is in the low bits of the number of its call. */
struct host_async_place {
    struct host_async *async; /* NULL: free */
    uint64_t turn;            /* how many calls have had this entry */
    uint32_t next;            /* the next free entry, + 1; 0: none */
};

struct host_async_table {
    struct host_async_place *places;
    uint32_t begun;           /* entries that were used at least once */
    uint32_t free;            /* the first free entry, + 1; 0: none */
    uint32_t own, foreign;    /* calls in the table */
    struct host_async *spare; /* spare pieces: at most as many as one guest has calls */
    uint32_t spare_count;
};

int host_async_table_open(struct host_async_table *table);
void host_async_table_close(struct host_async_table *table); /* frees the spare pieces */

/* Returns how many requests each of so many guests may have under way to other guests: at least
 * 64. */
static inline uint32_t host_async_table_share(uint32_t guests_max)
{
    return HOST_ASYNC_TABLE_GUESTS / guests_max;
}

/* Gives the call its number, which is never 0 and never used again. Returns false if all entries of
 * its kind are in use. */
bool host_async_table_enter(struct host_async_table *table, struct host_async *async);

/* Removes the call from the table. Its number finds nothing from now on, and the fields that a
 * cancel reads and writes are those of a new call. Harmless for a call that was not entered. */
void host_async_table_leave(struct host_async_table *table, struct host_async *async);

/* Returns NULL if no call has this number. */
struct host_async *host_async_table_find(const struct host_async_table *table, uint64_t number);

/* Returns a spare piece, entered; NULL if there is none. */
struct host_async *host_async_table_take(struct host_async_table *table);

/* Does the same for at most so many pieces: a chain by `next`, in no order. */
struct host_async *host_async_table_take_some(struct host_async_table *table, uint32_t most);

/* Keeps the piece as a spare. Returns false if there are enough: the caller frees it then. */
bool host_async_table_keep(struct host_async_table *table, struct host_async *piece);

/* Marks every call of the table as cancelled. */
void host_async_table_give_up(struct host_async_table *table);

#endif

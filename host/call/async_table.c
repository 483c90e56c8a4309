/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/async_table.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/asyncs.h"
#include "hub/base/memory.h"

#define SHIFT 16 /* the shift of an entry's turn in a number */

_Static_assert(HOST_ASYNC_TABLE_MAX == 1 << SHIFT, "low bits of a number tell the place");

int host_async_table_open(struct host_async_table *table)
{
    table->places = hub_memory_sparse(HOST_ASYNC_TABLE_MAX * sizeof *table->places);
    return table->places ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of calls");
}

void host_async_table_close(struct host_async_table *table)
{
    struct host_async *spare;

    while ((spare = table->spare)) {
        table->spare = spare->next;
        hub_responses_fini(&spare->answer);
        free(spare);
    }
    if (table->places)
        hub_memory_free_sparse(table->places, HOST_ASYNC_TABLE_MAX * sizeof *table->places);
    table->places = NULL;
}

static uint32_t *count_of(struct host_async_table *table, const struct host_async *async)
{
    return async->foreign ? &table->foreign : &table->own;
}

/* r[impl sec.call.share] */
static bool may_enter(const struct host_async_table *table, const struct host_async *async)
{
    return async->foreign ? table->foreign < HOST_ASYNC_TABLE_MAX - HOST_ASYNC_TABLE_OWN
                          : table->own < HOST_ASYNC_TABLE_OWN;
}

/* Returns a free entry, or the first that was never used. The caller has checked that there is
 * one. */
static uint32_t find_place(struct host_async_table *table)
{
    uint32_t index = table->free;

    if (index == 0)
        return table->begun++;
    table->free = table->places[index - 1].next;
    return index - 1;
}

bool host_async_table_enter(struct host_async_table *table, struct host_async *async)
{
    struct host_async_place *place;
    uint32_t index;

    if (!may_enter(table, async))
        return false;
    ++*count_of(table, async);
    index = find_place(table);
    place = &table->places[index];
    place->async = async;
    async->number = ++place->turn << SHIFT | index;
    return true;
}

void host_async_table_leave(struct host_async_table *table, struct host_async *async)
{
    uint32_t index = async->number & (HOST_ASYNC_TABLE_MAX - 1);

    if (async->number == 0)
        return;
    --*count_of(table, async);
    async->number = async->call = 0;
    async->life = NULL;
    async->cancelled = false;
    table->places[index].async = NULL;
    table->places[index].next = table->free;
    table->free = index + 1;
}

struct host_async *host_async_table_find(const struct host_async_table *table, uint64_t number)
{
    struct host_async *async = table->places[number & (HOST_ASYNC_TABLE_MAX - 1)].async;

    return async && async->number == number ? async : NULL;
}

struct host_async *host_async_table_take(struct host_async_table *table)
{
    struct host_async *async = table->spare;

    if (!async || !host_async_table_enter(table, async))
        return NULL;
    table->spare = async->next;
    table->spare_count--;
    return async;
}

struct host_async *host_async_table_take_some(struct host_async_table *table, uint32_t most)
{
    struct host_async *chain = NULL, *async;

    while (most-- > 0 && (async = host_async_table_take(table))) {
        async->next = chain;
        chain = async;
    }
    return chain;
}

bool host_async_table_keep(struct host_async_table *table, struct host_async *piece)
{
    if (table->spare_count == HUB_CALLS_MAX)
        return false;
    piece->next = table->spare;
    table->spare = piece;
    table->spare_count++;
    return true;
}

void host_async_table_give_up(struct host_async_table *table)
{
    for (uint32_t i = 0; i < table->begun; i++)
        if (table->places[i].async)
            table->places[i].async->cancelled = true;
}

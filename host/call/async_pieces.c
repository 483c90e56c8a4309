/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/async_pieces.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/call/routed.h"
#include "host/owner/ownership.h"

#define HOT         448  /* bytes of a piece that each call writes, and a cache line more */
#define LINE        64   /* bytes of a cache line */
#define BULK        16   /* pieces acquired under one lock */
#define OVER_MOST   64   /* calls that may have ended and still be in the table */
#define ANSWER_KEPT 1024 /* bytes at most of a buffer that is kept for the next answer */

int host_async_pieces_refuse(void)
{
    return rapahub_fail(RAPAHUB_EBUSY, "", "%d calls of this host are open", HOST_ASYNC_TABLE_OWN);
}

static struct host_async *new_piece(struct host_call *host)
{
    struct host_async *async = calloc(1, HOST_ASYNCS_PIECE);

    if (!async) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
        return NULL;
    }
    async->host = host;
    async->piece = true;
    hub_list_init(&async->parked);
    return async;
}

static void forget(struct host_async *async)
{
    hub_responses_fini(&async->answer);
    free(async);
}

/* Removes the call from the table. Returns whether its piece is kept; the caller frees it
 * otherwise. */
static bool leave(struct host_asyncs *asyncs, struct host_async *async) REQUIRES(asyncs->lock)
{
    host_async_table_leave(&asyncs->table, async);
    return async->piece && host_async_table_keep(&asyncs->table, async);
}

static void keep_all(struct host_asyncs *asyncs, struct host_async **chain)
{
    struct host_async *next, *surplus = NULL;

    if (!*chain)
        return;
    hub_mutex_lock(&asyncs->lock);
    for (struct host_async *async = *chain; async; async = next) {
        next = async->next;
        if (leave(asyncs, async))
            continue;
        async->next = surplus;
        surplus = async;
    }
    hub_mutex_unlock(&asyncs->lock);
    *chain = NULL;
    for (; surplus; surplus = next) {
        next = surplus->next;
        forget(surplus);
    }
}

static void settle(struct host_asyncs *asyncs)
{
    keep_all(asyncs, &asyncs->over);
    asyncs->over_count = 0;
}

/* Prefetches the next piece while this call is made: more pieces are in use than the first-level
 * cache holds. */
static void foresee(const struct host_async *async)
{
    const char *at = (const char *)async;

#pragma GCC unroll 8
    for (size_t i = 0; i < HOT; i += LINE)
        hub_foresee(at + i);
}

/* Returns the owner's next piece, of several that it acquires at once. */
static struct host_async *take_ready(struct host_asyncs *asyncs)
{
    struct host_async *async = asyncs->ready;

    if (!async) {
        settle(asyncs);
        hub_mutex_lock(&asyncs->lock);
        async = host_async_table_take_some(&asyncs->table, BULK);
        hub_mutex_unlock(&asyncs->lock);
    }
    asyncs->ready = async ? async->next : NULL;
    if (asyncs->ready)
        foresee(asyncs->ready);
    return async;
}

static struct host_async *take_spare(struct host_call *host)
{
    struct host_asyncs *asyncs = &host->asyncs;
    struct host_async *async;

    if (host_ownership_is_owner(&host->process.owner))
        return take_ready(asyncs);
    hub_mutex_lock(&asyncs->lock);
    async = host_async_table_take(&asyncs->table);
    hub_mutex_unlock(&asyncs->lock);
    return async;
}

struct host_async *host_async_pieces_take(struct host_call *host)
{
    struct host_asyncs *asyncs = &host->asyncs;
    struct host_async *async = take_spare(host);
    bool entered;

    if (async)
        return async;
    async = new_piece(host);
    if (!async)
        return NULL;
    hub_mutex_lock(&asyncs->lock);
    entered = host_async_table_enter(&asyncs->table, async);
    hub_mutex_unlock(&asyncs->lock);
    if (entered)
        return async;
    host_async_pieces_refuse();
    host_async_pieces_free(async);
    return NULL;
}

/* Resets the piece to the state in which host_async_pieces_take returns it, except the fields that
 * a cancel reads until the piece leaves the table. */
static void clean(struct host_async *async)
{
    if (async->answer.capacity > ANSWER_KEPT || async->answer.aligned.capacity > ANSWER_KEPT)
        hub_responses_fini(&async->answer);
    async->marks = NULL;
    async->owned = async->data = NULL;
    async->fini = NULL;
    async->container = NULL;
    async->foreign = async->raw = async->full = async->held = async->mine = false;
}

void host_async_pieces_settle(struct host_call *host)
{
    settle(&host->asyncs);
}

void host_async_pieces_close(struct host_asyncs *asyncs)
{
    settle(asyncs);
    keep_all(asyncs, &asyncs->ready);
}

/* Calls that end in a turn of the owner leave the table together when the turn is over. A cancel
 * finds them until then, and is harmless. */
static bool waits_for_end_of_turn(struct host_async *async)
{
    struct host_call *host = async->host;

    if (!async->piece || !host_ownership_is_owner(&host->process.owner) ||
        host->process.owner.depth == 0)
        return false;
    async->next = host->asyncs.over;
    host->asyncs.over = async;
    if (++host->asyncs.over_count == OVER_MOST)
        settle(&host->asyncs);
    return true;
}

void host_async_pieces_free(struct host_async *async)
{
    struct host_asyncs *asyncs = &async->host->asyncs;
    bool kept;

    if (async->fini)
        async->fini(async);
    if (async->seat)
        host_chains_leave(&async->seat);
    if (async->routed)
        host_routed_free(asyncs, async);
    if (async->marks)
        free(async->marks);
    if (async->owned)
        free(async->owned);
    if (async->data)
        free(async->data);
    if (async->piece)
        clean(async);
    if (waits_for_end_of_turn(async))
        return;
    hub_mutex_lock(&asyncs->lock);
    kept = leave(asyncs, async);
    hub_mutex_unlock(&asyncs->lock);
    if (!kept)
        forget(async);
}

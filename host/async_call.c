/* SPDX-License-Identifier: Apache-2.0 */
#include "host/async_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/asyncs.h"
#include "host/exchange.h"
#include "host/host.h"
#include "host/route.h"
#include "hub/base/own.h"

#define ANSWER_KEPT 1024 /* bytes at most of a buffer that waits for its next answer */
#define ALIGN       _Alignof(max_align_t)

/* One call, what the embedder's callback needs, and room for arguments and result behind it: what
 * is larger than the room is allocated. */
struct piece {
    struct host_async async; /* first: see struct host_asyncs */
    rapahub_on_done *on_done;
    void *user;
    const struct rapahub_type *type;
    struct hub_signature *storage; /* `type` may lie in one of these two */
    struct host_methods *methods;
    void *result;
    max_align_t room[];
};
_Static_assert(sizeof(struct piece) <= HOST_ASYNCS_PIECE / 2, "little room is left");

static struct piece *piece_of(struct host_async *async)
{
    return (struct piece *)async;
}

static void fini(struct host_async *async)
{
    hub_signature_release(&piece_of(async)->storage);
    host_methods_release(&piece_of(async)->methods);
}

static void release(struct host_async *async)
{
    struct host_asyncs *asyncs = &async->host->asyncs;

    if (async->answer.capacity > ANSWER_KEPT)
        hub_answers_fini(&async->answer);
    if (host_shelf_give(&asyncs->spare, async))
        return;
    hub_answers_fini(&async->answer);
    free(async);
}

static void on_done(struct host_async *async, int code, struct hub_answer *answer)
{
    struct piece *piece = piece_of(async);

    if (code == 0)
        code = host_exchange_take(async->life, answer, async->method, piece->type, piece->result);
    async->host->callbacks++;
    piece->on_done(piece->user, code, code == 0 && piece->type->size > 0 ? piece->result : NULL);
    async->host->callbacks--;
}

/* In the room where it fits there, else in memory that is freed with the call; NULL for none. */
static void *place(struct piece *piece, size_t *used, size_t size, void **own)
{
    size_t room = HOST_ASYNCS_PIECE - sizeof *piece, aligned = (size + ALIGN - 1) / ALIGN * ALIGN;
    void *at = (unsigned char *)piece->room + *used;

    if (size > room || aligned > room - *used) {
        *own = malloc(size);
        return *own;
    }
    *used += aligned;
    return at;
}

/* As new, but for the buffer of its answer. */
static struct piece *take_piece(struct rapahub_host *host)
{
    struct piece *piece = host_shelf_take(&host->asyncs.spare);
    struct hub_answer answer;

    if (!piece)
        return NULL;
    answer = piece->async.answer;
    *piece = (struct piece){
        .async = {
            .host = host, .answer = answer, .done = on_done, .fini = fini, .release = release}};
    return piece;
}

static int copy(struct piece *piece, const struct host_prepared *prepared)
{
    struct host_async *async = &piece->async;
    struct rapahub_bytes from = prepared->arguments;
    struct hub_stream_marks *marks = prepared->marks.count > 0 ? malloc(sizeof *marks) : NULL;
    size_t used = 0, size = prepared->result->size;
    void *arguments;

    async->marks = marks;
    piece->result = place(piece, &used, size > 0 ? size : 1, &async->data);
    arguments = place(piece, &used, from.size + 1, &async->owned);
    if (!piece->result || !arguments || (prepared->marks.count > 0 && !marks))
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
    if (marks)
        *marks = prepared->marks;
    memset(piece->result, 0, size);
    memcpy(arguments, from.data, from.size);
    async->arguments = (struct rapahub_bytes){arguments, from.size};
    return 0;
}

static int make(struct rapahub_host *host, const struct host_async_call_order *order,
                struct host_prepared *prepared, const struct host_route *where, struct piece **out)
{
    struct piece *piece = take_piece(host);
    int r =
        piece ? copy(piece, prepared) : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");

    if (r < 0) {
        if (piece)
            host_asyncs_free(&piece->async);
        return r;
    }
    piece->on_done = order->on_done;
    piece->user = order->user;
    piece->type = prepared->result;
    piece->storage = TAKE(prepared->storage);
    piece->methods = host_methods_hold(where->methods);
    piece->async.target = order->call->target;
    piece->async.method_id = prepared->method_id;
    snprintf(piece->async.method, sizeof piece->async.method, "%s", prepared->name);
    *out = piece;
    return 0;
}

int host_async_call_begin(struct rapahub_host *host, const struct host_async_call_order *order,
                          uint64_t *number)
{
    struct host_prepared prepared = {0};
    struct piece *piece = NULL;
    struct host_route where;
    int r;

    if (order->call->loan)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a loan is for a call that is waited for");
    r = host_route_find(host, order->call->target, &where);
    if (r == 0 || r == -EAGAIN)
        r = host_route_prepare(host, order->call, &where, false, &prepared);
    if (r == 0)
        r = make(host, order, &prepared, &where, &piece);
    host_route_unprepare(&prepared);
    host_route_drop(&where);
    if (r < 0)
        return r;
    piece->async.deadline_ns = host_route_deadline(host, order->call);
    if (host_threads_is_owner(host))
        piece->async.chain = host->chain;
    return host_asyncs_begin(host, &piece->async, number);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/async_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/asyncs.h"
#include "host/corks.h"
#include "host/exchange.h"
#include "host/host.h"
#include "host/route.h"
#include "host/small_call.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/wire/payload.h"

#define SMALL 512 /* bytes of metadata and arguments; more is worth the long way */
#define ALIGN _Alignof(max_align_t)

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

/* Each place of its own has something to fill it with. */
static struct piece *take_piece(struct rapahub_host *host,
                                const struct host_async_call_order *order)
{
    struct piece *piece = piece_of(host_asyncs_take(host));

    if (!piece)
        return NULL;
    piece->async.done = on_done;
    piece->async.target = order->call->target;
    piece->on_done = order->on_done;
    piece->user = order->user;
    return piece;
}

/* When the call is over at the latest: to some ticks, for which no clock need be read. */
static uint64_t deadline_of(const struct rapahub_host *host, const struct rapahub_call *call)
{
    return hub_clock_about(call->timeout_ns ? call->timeout_ns : host->options.call_timeout_ns);
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
    struct piece *piece = take_piece(host, order);
    int r = piece ? copy(piece, prepared) : RAPAHUB_ENOMEM;

    if (r < 0) {
        if (piece)
            host_asyncs_free(&piece->async);
        return r;
    }
    piece->type = prepared->result;
    piece->storage = TAKE(prepared->storage);
    piece->methods = host_methods_hold(where->methods);
    piece->async.fini = fini;
    piece->async.method_id = prepared->method_id;
    memcpy(piece->async.method, prepared->name, sizeof piece->async.method);
    *out = piece;
    return 0;
}

static int begin_slowly(struct rapahub_host *host, const struct host_async_call_order *order,
                        struct host_async_begun *out)
{
    struct host_prepared prepared = {0};
    struct piece *piece = NULL;
    struct host_route where;
    int r;

    if (order->call->loan)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a loan is for a call that is waited for");
    r = host_route_find(host, order->call->target, &where);
    if (r == 0)
        host_small_call_note(host, &where);
    if (r == 0 || r == -EAGAIN)
        r = host_route_prepare(host, order->call, &where, false, &prepared);
    if (r == 0)
        r = make(host, order, &prepared, &where, &piece);
    host_route_unprepare(&prepared);
    host_route_drop(&where);
    if (r < 0)
        return r;
    out->deadline_ns = piece->async.deadline_ns = deadline_of(host, order->call);
    if (host_threads_is_owner(host))
        piece->async.chain = host->chain;
    return host_asyncs_begin(host, &piece->async, &out->number);
}

/* ---- to where this thread called before: as small_call.h, and that the end is another's ---- */

static bool fill(struct piece *piece, const struct rapahub_call *call)
{
    size_t size = strnlen(call->method, sizeof piece->async.method);

    if (size == sizeof piece->async.method)
        return false;
    memcpy(piece->async.method, call->method, size + 1);
    piece->type = call->types[0];
    piece->result = piece->room;
    memset(piece->result, 0, piece->type->size);
    return true;
}

/* Behind a success the piece may be another call's already. */
static int send(struct rapahub_host *host, const struct host_scratch *scratch, struct piece *piece,
                const struct hub_call *request)
{
    struct host_container *container = host_scratch_container(scratch);
    struct host_life *life = host_scratch_life(scratch);
    int r;

    piece->async.life = life;
    piece->async.container = container;
    hub_add(&container->users, 1);
    r = hub_calls_begin(life->connection.calls, request, &piece->async.call);
    if (r < 0) {
        hub_add(&container->users, UINT32_MAX);
        host_asyncs_free(&piece->async);
        return -EAGAIN;
    }
    if (request->payload.more)
        host_corks_sent(host, container, life);
    return 0;
}

/* Inside. What cannot be sent now, be it for want of space, goes the long way. */
static int begin_there(struct rapahub_host *host, const struct host_scratch *scratch,
                       const struct host_async_call_order *order, uint64_t method_id,
                       struct host_async_begun *out)
{
    const struct rapahub_call *call = order->call;
    uint8_t data[SMALL];
    struct hub_writer writer = {.data = data, .capacity = sizeof data};
    struct piece *piece;

    if (host_small_call_encode(host, scratch, call, &writer) < 0 ||
        call->types[0]->size > HOST_ASYNCS_PIECE - sizeof *piece)
        return -EAGAIN;
    piece = take_piece(host, order);
    if (!piece)
        return -EAGAIN;
    if (!fill(piece, call)) {
        host_asyncs_free(&piece->async);
        return -EAGAIN;
    }
    *out = (struct host_async_begun){piece->async.number, deadline_of(host, call)};
    const struct hub_call request = {
        .method_id = method_id,
        .payload = {.head = {data, writer.size},
                    .more = host_corks_holds(host_scratch_container(scratch))},
        .deadline_ns = out->deadline_ns,
        .answer = &piece->async.answer,
        .done = host_asyncs_answered,
        .user = &piece->async,
        .at_once = true,
    };

    return send(host, scratch, piece, &request);
}

static int begin_quickly(struct rapahub_host *host, const struct host_async_call_order *order,
                         struct host_async_begun *out)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);
    uint64_t method_id = host_small_call_id(order->call);
    bool same, ended;
    int r = -EAGAIN;

    if (!scratch || host_asyncs_queue(&host->asyncs) || method_id == 0 ||
        !host_small_call_is_to(scratch, order->call->target) || host_scratch_is_inside(scratch))
        return -EAGAIN;
    host_scratch_enter(scratch);
    same = hub_observe(&host->version) == scratch->version;
    if (same)
        r = begin_there(host, scratch, order, method_id, out);
    ended = !same || hub_link_closed(host_scratch_life(scratch)->connection.link);
    host_scratch_leave(scratch);
    if (ended)
        host_loop_wake(&host->loop); /* the owner may wait for who is inside */
    return r;
}

int host_async_call_begin(struct rapahub_host *host, const struct host_async_call_order *order,
                          struct host_async_begun *out)
{
    int r = begin_quickly(host, order, out);

    return r == -EAGAIN ? begin_slowly(host, order, out) : r;
}

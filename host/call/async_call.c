/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/async_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/call/async_pieces.h"
#include "host/call/asyncs.h"
#include "host/call/cached_call.h"
#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/call/prepared.h"
#include "host/call/request.h"
#include "host/call/route.h"
#include "host/call/route_cache.h"
#include "host/call/routed.h"
#include "host/owner/forked.h"
#include "host/owner/ownership.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/call/call_small.h"
#include "hub/wire/payload.h"
#include "hub/wire/raw.h"

#define ALIGN _Alignof(max_align_t)

/* An asynchronous call, with the embedder's callback, and space for arguments and result after it.
 * Memory that exceeds the space is allocated. */
struct piece {
    struct host_async async; /* first: a piece is found by its host_async */
    rapahub_on_done *on_done;
    void *user;
    const struct rapahub_type *type;
    struct hub_signature *storage; /* `type` may be in one of these two */
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

/* Decodes an answer of a few bytes and nothing else, as most answers are. */
static bool take_raw(const struct piece *piece, const struct hub_answer *answer)
{
    return piece->type->kind == RAPAHUB_KIND_BYTES && answer->size <= HUB_INLINE_SIZE &&
           hub_line_begins(answer->data + HUB_RAW_RESPONSE) &&
           hub_raw_decode_response(answer->data, answer->size, piece->result);
}

static void on_done(struct host_async *async, int code, struct hub_answer *answer)
{
    struct piece *piece = piece_of(async);

    if (code == 0 && !take_raw(piece, answer))
        code = host_request_decode(async->life, answer, async->method, piece->type, piece->result);
    async->host->process.owner.callbacks++;
    piece->on_done(piece->user, code, code == 0 && piece->type->size > 0 ? piece->result : NULL);
    async->host->process.owner.callbacks--;
}

/* Returns memory in the piece's space, or memory that is freed with the call; NULL if there is
 * none. */
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

/* Acquires a piece and fills in the order. */
static struct piece *take_piece(struct host_call *host, const struct host_async_call_order *order)
{
    struct piece *piece = piece_of(host_async_pieces_take(host));

    if (!piece)
        return NULL;
    piece->async.done = on_done;
    piece->async.target = order->call->target;
    piece->on_done = order->on_done;
    piece->user = order->user;
    return piece;
}

/* Returns when the call is over at the latest. It is accurate to some ticks, so that no clock need
 * be read. */
static uint64_t deadline_of(const struct host_call *host, const struct rapahub_call *call)
{
    return hub_clock_about(call->timeout_ns ? call->timeout_ns
                                            : host->process.options.call_timeout_ns);
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
    async->aligned = prepared->aligned;
    return 0;
}

static int make(struct host_call *host, const struct host_async_call_order *order,
                struct host_prepared *prepared, const struct host_route *where, struct piece **out)
{
    struct piece *piece = take_piece(host, order);
    int r = piece ? copy(piece, prepared) : rapahub_last_error()->code;

    if (r < 0) {
        if (piece)
            host_async_pieces_free(&piece->async);
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

/* Makes the piece of a call to where the route leads: `found` is what the search returned. */
static int make_found(struct host_call *host, const struct host_async_call_order *order,
                      const struct host_route *where, int found, struct piece **out)
{
    struct host_prepared prepared = {0};
    int r = found;

    if (found == 0)
        host_route_cache_note(host, where);
    if (found >= 0 || found == -EAGAIN)
        r = host_prepared_make(host, order->call, where, false, &prepared);
    if (r == 0)
        r = make(host, order, &prepared, where, out);
    host_prepared_release(&prepared);
    return r;
}

static int add_routed(struct host_call *host, const struct host_async_call_order *order,
                      struct rapahub_uid uid, struct piece *piece)
{
    const struct host_routed_origin origin = {.query = order->call->query, .uid = uid};
    int r = host_routed_add(&host->asyncs, &piece->async, &origin);

    if (r < 0)
        host_async_pieces_free(&piece->async);
    return r;
}

static int make_any(struct host_call *host, const struct host_async_call_order *order,
                    struct piece **out)
{
    struct host_route where;
    struct rapahub_uid uid;
    int found, r;

    if (order->call->loan)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a loan is for a call that is waited for");
    found = host_route_find_own(host, order->call, &where, &uid);
    r = make_found(host, order, &where, found, out);
    host_route_drop(&where);
    return r == 0 && found == HOST_ROUTE_AWAY ? add_routed(host, order, uid, *out) : r;
}

static int begin_slowly(struct host_call *host, const struct host_async_call_order *order,
                        struct host_async_begun *out)
{
    struct piece *piece = NULL;
    int r = host_forked_check(&host->process.owner);

    if (r == 0)
        r = make_any(host, order, &piece);
    if (r < 0)
        return r;
    out->deadline_ns = piece->async.deadline_ns = deadline_of(host, order->call);
    if (host_ownership_is_owner(&host->process.owner) && host->chain.value != 0) {
        piece->async.seat = host_chains_reserve(host, &host->chain);
        if (!piece->async.seat) {
            host_async_pieces_free(&piece->async);
            return RAPAHUB_ENOMEM;
        }
    }
    return host_asyncs_begin(host, &piece->async, &out->number);
}

/* ---- to the target of this thread's last call: like cached_call.h, but the end comes later ----
 */

/* A call on the quick path. */
struct quick {
    struct host_call *host;
    struct host_route_use use;
    const struct host_async_call_order *order;
    struct host_async_begun *out;
    uint64_t method_id;
};

/* Sets the result to the value that it has if the call fails. A result of bytes, the usual case,
 * needs no call of memset. */
static void clear_result(struct piece *piece)
{
    piece->result = piece->room;
    if (piece->type->kind == RAPAHUB_KIND_BYTES)
        *(struct rapahub_bytes *)piece->result = (struct rapahub_bytes){NULL, 0};
    else
        memset(piece->result, 0, piece->type->size);
}

/* Fills in method and result. A piece keeps the name of the method that it served last. */
static bool fill(const struct quick *quick, struct piece *piece)
{
    const struct rapahub_call *call = quick->order->call;
    struct host_async *async = &piece->async;

    if (async->method_id != quick->method_id) {
        size_t size = strnlen(call->method, sizeof async->method);

        async->method_id = 0;
        if (size == sizeof async->method)
            return false;
        memcpy(async->method, call->method, size + 1);
        async->method_id = quick->method_id;
    }
    piece->type = call->types[0];
    clear_result(piece);
    return true;
}

/* Acquires a piece that is entered in the table and counted at its container. Only this thread has
 * it. */
static struct piece *take_quick(const struct quick *quick)
{
    struct host_container *container = host_caller_container(quick->use.caller);
    struct piece *piece = take_piece(quick->host, quick->order);

    if (!piece)
        return NULL;
    if (!fill(quick, piece)) {
        host_async_pieces_free(&piece->async);
        return NULL;
    }
    piece->async.life = host_caller_life(quick->use.caller);
    piece->async.container = container;
    piece->async.mine = quick->use.owner;
    if (quick->use.owner)
        host_containers_hold_own(container);
    else
        hub_add(&container->users, 1);
    *quick->out = (struct host_async_begun){piece->async.number,
                                            deadline_of(quick->host, quick->order->call)};
    return piece;
}

/* Releases a piece that was not sent. */
static void give_quick(struct piece *piece)
{
    host_asyncs_uncount(&piece->async);
    host_async_pieces_free(&piece->async);
}

/* Returns false if the call does not fit into a descriptor. */
static bool encode_small(const struct quick *quick, struct hub_descriptor *message)
{
    const struct rapahub_call *call = quick->order->call;
    struct hub_writer writer = {.data = message->inline_payload, .capacity = HUB_INLINE_SIZE};
    uint64_t chain = quick->use.owner ? quick->host->chain.value : 0;

    if ((quick->use.caller->handle | chain) == 0 && host_cached_call_is_raw(call)) {
        message->payload_len =
            hub_raw_put_request(message->inline_payload, HUB_INLINE_SIZE,
                                *(const struct rapahub_bytes *)call->arguments[0]);
        return message->payload_len > 0;
    }
    if (host_cached_call_encode(quick->host, quick->use.caller, call, &writer) < 0)
        return false;
    message->payload_len = (uint32_t)writer.size;
    return true;
}

/* Sends a call in a descriptor. After a success the piece may already serve another call. */
static int send_small(const struct quick *quick, struct hub_descriptor *message, bool more)
{
    struct host_life *life = host_caller_life(quick->use.caller);
    struct piece *piece = take_quick(quick);
    int r;

    if (!piece)
        return -EAGAIN;
    const struct hub_call_small call = {quick->out->deadline_ns, &piece->async.answer,
                                        host_asyncs_answered, &piece->async, more};

    r = hub_call_small_begin(life->connection.calls, message, &call, &piece->async.call);
    if (r < 0)
        give_quick(piece);
    return r;
}

/* Sends a call in a slot. */
static __attribute__((noinline)) int send_large(const struct quick *quick, bool more)
{
    struct host_life *life = host_caller_life(quick->use.caller);
    uint8_t data[HOST_CACHED_CALL_MOST];
    struct hub_writer writer = {.data = data, .capacity = sizeof data};
    struct piece *piece;
    int r;

    if (host_cached_call_encode(quick->host, quick->use.caller, quick->order->call, &writer) < 0)
        return -EAGAIN;
    piece = take_quick(quick);
    if (!piece)
        return -EAGAIN;
    const struct hub_call request = {
        .method_id = quick->method_id,
        .payload = {.head = {data, writer.size},
                    .more = more,
                    .aligned = host_cached_call_aligned(quick->order->call)},
        .deadline_ns = quick->out->deadline_ns,
        .answer = &piece->async.answer,
        .done = host_asyncs_answered,
        .user = &piece->async,
        .at_once = true,
    };

    r = hub_calls_begin(life->connection.calls, &request, &piece->async.call);
    if (r < 0)
        give_quick(piece);
    return r < 0 ? -EAGAIN : 0;
}

/* Sends the call now. Returns -EAGAIN if that is not possible, also for lack of space: it must use
 * the general path then. */
static int begin_there(const struct quick *quick)
{
    struct host_container *container = host_caller_container(quick->use.caller);
    struct hub_descriptor message = {.method_id = quick->method_id};
    bool more = host_corks_holds(container);
    int r;

    if (quick->order->call->types[0]->size > HOST_ASYNCS_PIECE - sizeof(struct piece))
        return -EAGAIN;
    r = encode_small(quick, &message) ? send_small(quick, &message, more) : send_large(quick, more);
    if (r == 0 && more)
        host_corks_sent(quick->host, container, host_caller_life(quick->use.caller));
    return r;
}

static int begin_quickly(struct host_call *host, const struct host_async_call_order *order,
                         struct host_async_begun *out)
{
    const struct rapahub_call *call = order->call;
    struct quick quick = {
        .host = host, .order = order, .out = out, .method_id = host_cached_call_id(call)};
    int r;

    if (host_asyncs_queue(&host->asyncs) || quick.method_id == 0 || call->loan || call->view ||
        call->query || !host_route_cache_enter(host, call->target, &quick.use))
        return -EAGAIN;
    r = begin_there(&quick);
    host_route_cache_leave(host, &quick.use);
    return r;
}

int host_async_call_begin(struct host_call *host, const struct host_async_call_order *order,
                          struct host_async_begun *out)
{
    int r = begin_quickly(host, order, out);

    return r == -EAGAIN ? begin_slowly(host, order, out) : r;
}

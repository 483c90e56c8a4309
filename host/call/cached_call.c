/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/cached_call.h"

#include <errno.h>
#include <string.h>

#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/call/loans.h"
#include "host/call/request.h"
#include "host/call/route_cache.h"
#include "host/owner/ownership.h"
#include "hub/call/direct_call.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/raw.h"

/* ---- encoding ---- */

/* Returns the number of arguments; more than there may be if there is a stream among them. */
static size_t count_of(const struct rapahub_type *const *types)
{
    size_t count = 0;

    for (; types[count]; count++)
        if (hub_signature_is_stream(types[count]))
            return HUB_SIGNATURE_ARGUMENTS_MAX + 1;
    return count;
}

/* Writes the metadata to an empty writer, which has space for at least the one byte of none; the
 * general path adds a chain. */
static bool put_head(struct host_call *host, const struct host_caller *caller,
                     struct hub_writer *writer)
{
    if (host->chain.value != 0 && host_ownership_is_owner(&host->process.owner))
        return false;
    if (caller->handle != 0 && writer->capacity < HOST_REQUEST_HEAD_MAX)
        return false;
    if (caller->handle == 0)
        writer->data[writer->size++] = 0; /* no metadata */
    else
        writer->size = host_request_head(caller->handle, 0, writer->data);
    return true;
}

/* Writes the metadata and returns the number of arguments; -EAGAIN as below. */
static int begin_to_encode(struct host_call *host, const struct host_caller *caller,
                           const struct rapahub_call *call, struct hub_writer *writer)
{
    size_t count = count_of(call->types + 1);

    return count <= HUB_SIGNATURE_ARGUMENTS_MAX && (count == 0 || call->arguments) &&
                   put_head(host, caller, writer)
               ? (int)count
               : -EAGAIN;
}

int host_cached_call_encode(struct host_call *host, const struct host_caller *caller,
                            const struct rapahub_call *call, struct hub_writer *writer)
{
    if (begin_to_encode(host, caller, call, writer) < 0)
        return -EAGAIN;
    hub_payload_put_arguments(writer, call->types + 1, call->arguments);
    return writer->failure < 0 ? -EAGAIN : 0;
}

size_t host_cached_call_aligned(const struct rapahub_call *call)
{
    return call->arguments ? hub_payload_from_largest(call->types + 1, call->arguments) : 0;
}

/* ---- a call of any types ---- */

struct cached_call {
    struct host_call *host;
    struct host_route_use use;
    struct host_life *life;
    const struct rapahub_call *call;
    void *result;
};

static struct hub_calls *calls_of(const struct cached_call *cached)
{
    return cached->life->connection.calls;
}

static __attribute__((noinline)) int take(const struct cached_call *cached,
                                          struct hub_answer *answer)
{
    return host_request_decode(cached->life, answer, cached->call->method, cached->call->types[0],
                               cached->result);
}

/* Reads an answer of this size that came in a descriptor. */
static int take_small(const struct cached_call *cached, size_t size)
{
    struct hub_answer *answer = &cached->use.caller->few;

    answer->size = (uint32_t)size;
    return take(cached, answer);
}

/* Shows the view in `quick` until the thread's next call. The hold of a loan on the life passes to
 * it. */
static void show(const struct cached_call *cached)
{
    struct rapahub_loan *loan = cached->call->loan;
    struct host_life *life =
        loan ? host_loans_inherit(cached->host, cached->use.caller, loan) : NULL;

    if (!life)
        host_life_hold(cached->life);
    host_caller_show_view(cached->use.caller, &cached->use.caller->quick.view, cached->life);
}

/* Reads an answer that is in `quick`. */
static int take_quick(const struct cached_call *cached)
{
    struct hub_answer *answer = &cached->use.caller->quick;
    int r = 0;

    /* most large answers are views of bytes, which need no other look */
    if (!answer->view.link ||
        !host_request_decode_shown(answer, cached->call->types[0], cached->result))
        r = take(cached, answer);
    if (answer->view.link)
        show(cached);
    return r;
}

/* Explains why a call was not sent or failed. A call that is tried again needs no explanation. */
static int explain(const struct cached_call *cached, int r)
{
    return r == -EAGAIN || (r == RAPAHUB_ESTALE && !cached->call->loan)
               ? r
               : host_life_explain(cached->life, r, cached->call->method);
}

/* Waits for an answer. The owner may take turns, and free a life that has ended in one of them. */
static __attribute__((noinline)) int wait_and_take(const struct cached_call *cached,
                                                   uint64_t number)
{
    int r;

    host_route_cache_wait(&cached->use);
    r = host_request_wait(cached->host, calls_of(cached), number, false);
    r = r < 0 ? explain(cached, r) : take_quick(cached);
    host_route_cache_waited(cached->host, &cached->use);
    return r;
}

/* Makes a call that could not be sent directly, with a table entry. */
static __attribute__((noinline)) int begin(const struct cached_call *cached,
                                           const struct hub_parts *payload,
                                           const struct hub_direct_order *order)
{
    const struct hub_call request = {.method_id = order->method_id,
                                     .payload = *payload,
                                     .timeout_ns =
                                         order->timeout_ns ? order->timeout_ns : order->usual_ns,
                                     .answer = order->answer,
                                     .view = order->view,
                                     .at_once = true};
    uint64_t number;
    int r = hub_calls_begin(calls_of(cached), &request, &number);

    return r < 0 ? explain(cached, r) : wait_and_take(cached, number);
}

/* Ends a call that was sent directly, or was not: -EAGAIN then. */
static int take_end(const struct cached_call *cached, struct hub_direct_end end)
{
    switch (end.outcome) {
    case HUB_DIRECT_ANSWERED:
        return take_small(cached, end.of);
    case HUB_DIRECT_IN_ANSWER:
        return take_quick(cached);
    case HUB_DIRECT_SENT:
        return wait_and_take(cached, end.of);
    default:
        return -EAGAIN;
    }
}

/* Encodes what stands before the bytes in a loan. The slot has space for HUB_LOAN_HEAD bytes. */
static int encode_loan(const struct cached_call *cached, struct hub_writer *writer,
                       struct hub_parts *payload)
{
    const struct rapahub_call *call = cached->call;
    int count = begin_to_encode(cached->host, cached->use.caller, call, writer);
    const struct rapahub_bytes *last;

    if (count <= 0 || call->types[count]->kind != RAPAHUB_KIND_BYTES)
        return -EAGAIN;
    last = hub_payload_put_before_last(writer, call->types + 1, call->arguments);
    payload->tail = *last;
    payload->loan = host_loans_of(call->loan, cached->life, last);
    if (!payload->loan || writer->failure < 0 || writer->size > HUB_LOAN_HEAD)
        return -EAGAIN;
    writer->size += hub_postcard_put_length(writer->data + writer->size, last->size);
    return writer->size <= HUB_LOAN_HEAD ? 0 : -EAGAIN;
}

static int encode(const struct cached_call *cached, struct hub_writer *writer,
                  struct hub_parts *payload)
{
    const struct rapahub_call *call = cached->call;
    int r = call->loan ? encode_loan(cached, writer, payload)
                       : host_cached_call_encode(cached->host, cached->use.caller, call, writer);

    payload->head = (struct rapahub_bytes){writer->data, writer->size};
    if (!call->loan && writer->size > HUB_INLINE_SIZE)
        payload->aligned = host_cached_call_aligned(call);
    return r;
}

/* The last result is released after the call is encoded: the arguments may be in it. */
static int call_any(const struct cached_call *cached)
{
    uint8_t data[HOST_CACHED_CALL_MOST];
    struct hub_writer writer = {.data = data, .capacity = sizeof data};
    struct host_caller *caller = cached->use.caller;
    struct hub_direct_order order = caller->order;
    struct hub_parts payload = {.loan = NULL};
    struct hub_direct_end end;
    int r = encode(cached, &writer, &payload);

    if (r < 0)
        return r;
    if (host_caller_shows(caller))
        host_caller_hide(caller); /* so that its slot is free for this answer */
    order.method_id = host_cached_call_id(cached->call);
    order.timeout_ns = cached->call->timeout_ns;
    order.view = cached->call->view && cached->life->segment.trusted;
    end = hub_direct_call(calls_of(cached), &payload, &order, cached->use.owner);
    return end.outcome == HUB_DIRECT_REFUSED ? begin(cached, &payload, &order)
                                             : take_end(cached, end);
}

/* Returns -EAGAIN for a call that was not executed: the general path tries it again, and explains
 * what is wrong. */
static int judge(int r)
{
    return r < 0 && (r == RAPAHUB_ESTALE || r == RAPAHUB_ENOMETHOD) ? -EAGAIN : r;
}

/* A loan that was sent cannot be sent again. */
static int judge_loan(struct host_call *host, const struct rapahub_call *call, int r)
{
    if (r != -EAGAIN)
        host_loans_settle(host, call->loan);
    return r;
}

/* Each function that is not marked noinline is inlined into this one and the next two: a call uses
 * some thirty functions, and entering and leaving them was half of its work. */
static __attribute__((noinline, flatten)) int call_of_any_types(struct host_call *host,
                                                                const struct rapahub_call *call,
                                                                void *result)
{
    struct cached_call cached = {.host = host, .call = call, .result = result};
    int r;

    if (!host_route_cache_enter(host, call->target, &cached.use))
        return -EAGAIN;
    cached.life = host_caller_life(cached.use.caller);
    host_corks_push(host);
    r = call_any(&cached);
    host_route_cache_leave(host, &cached.use);
    return call->loan ? judge_loan(host, call, r) : judge(r);
}

/* ---- a raw call ---- */

static bool take_raw(struct host_caller *caller, size_t size, struct rapahub_bytes *result)
{
    return result && hub_raw_decode_response(host_caller_small(caller), size, result);
}

/* Goes on with a raw call that was not sent, or not just answered with such bytes. */
static __attribute__((noinline)) int go_on_raw(struct host_call *host, struct host_route_use use,
                                               const struct rapahub_call *call, void *result,
                                               struct hub_direct_end end)
{
    const struct cached_call cached = {host, use, host_caller_life(use.caller), call, result};

    return end.outcome == HUB_DIRECT_REFUSED ? call_any(&cached) : take_end(&cached, end);
}

static __attribute__((noinline)) int go_on_answered(struct host_call *host,
                                                    struct host_route_use use,
                                                    const struct rapahub_call *call, void *result,
                                                    int size)
{
    const struct hub_direct_end end = {HUB_DIRECT_ANSWERED, (uint64_t)size};

    return go_on_raw(host, use, call, result, end);
}

/* The method's id is in the caller's order. */
static inline int call_raw(struct host_call *host, struct host_caller *caller,
                           const struct rapahub_call *call, void *result, bool owner)
{
    const struct host_route_use use = {caller, owner};
    const struct rapahub_bytes *in = call->arguments[0];
    struct hub_direct_end end = {HUB_DIRECT_REFUSED, 0};
    int size;

    if ((caller->handle | (owner ? host->chain.value : 0)) != 0 ||
        in->size > HUB_INLINE_SIZE - HUB_RAW_REQUEST)
        return go_on_raw(host, use, call, result, end);
    caller->order.timeout_ns = call->timeout_ns;
    size = hub_direct_call_bytes(host_caller_life(caller)->connection.calls, in, &caller->order,
                                 owner, &end);
    if (size < 0)
        return go_on_raw(host, use, call, result, end);
    return take_raw(caller, (size_t)size, result) ? 0
                                                  : go_on_answered(host, use, call, result, size);
}

static __attribute__((noinline, flatten)) int call_raw_inside(struct host_call *host,
                                                              struct host_route_use use,
                                                              const struct rapahub_call *call,
                                                              void *result)
{
    int r = call_raw(host, use.caller, call, result, false);

    host_route_cache_leave(host, &use);
    return r;
}

/* If a result is shown, the arguments may be in it: so a raw call is encoded first then. */
__attribute__((flatten)) int host_cached_call(struct host_call *host,
                                              const struct rapahub_call *call, void *result)
{
    uint64_t method_id = host_cached_call_id(call);
    struct host_route_use use;

    if (method_id == 0 || call->query)
        return -EAGAIN;
    if (call->loan || call->view || !host_cached_call_is_raw(call) ||
        !host_route_cache_enter_at_rest(host, call->target, &use))
        return call_of_any_types(host, call, result);
    host_corks_push(host);
    use.caller->order.method_id = method_id;
    return judge(use.owner ? call_raw(host, use.caller, call, result, true)
                           : call_raw_inside(host, use, call, result));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/loan_call.h"

#include <errno.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/call/loans.h"
#include "host/call/request.h"
#include "host/call/route_cache.h"
#include "host/call/small_call.h"
#include "hub/call/direct_call.h"
#include "hub/wire/postcard.h"

#define SMALL 512 /* bytes of metadata and arguments; a larger call uses the general path */

/* The calling thread and the life that it calls. */
struct caller {
    struct host_call *host;
    struct host_caller *caller;
    struct host_life *life;
    bool owner;
    bool inside; /* inside of the life */
};

/* The state of a call. */
struct loan_call {
    struct host_call *host;
    struct host_caller *caller;
    struct host_life *life;
    const struct rapahub_call *call;
    void *result;
    bool owner;
    bool inside; /* inside of the life; the owner, which alone frees lives, enters only to wait */
    uint8_t data[SMALL]; /* the arguments before a loan, or all */
    struct hub_parts payload;
};

/* Returns the number of arguments; more than there may be if there is a stream among them. */
static size_t count_of(const struct rapahub_type *const *types)
{
    size_t count = 0;

    for (; count <= HUB_SIGNATURE_ARGUMENTS_MAX && types[count]; count++)
        if (hub_signature_is_stream(types[count]))
            return HUB_SIGNATURE_ARGUMENTS_MAX + 1;
    return count;
}

static __attribute__((noinline)) int put(struct loan_call *it,
                                         const struct rapahub_type *const *types,
                                         struct hub_writer *writer)
{
    const struct rapahub_call call = {.types = types, .arguments = it->call->arguments};

    return host_small_call_encode(it->host, it->caller, &call, writer);
}

/* Writes only the length, the usual case: there is no metadata and no other argument. */
static bool put_plain(const struct loan_call *it, size_t count, struct hub_writer *writer)
{
    if (count != 1 || it->caller->handle != 0 || (it->owner && it->host->chain.value != 0))
        return false;
    writer->data[0] = 0;
    writer->size = 1 + hub_postcard_put_length(writer->data + 1, it->payload.tail.size);
    return true;
}

static __attribute__((noinline)) int put_types(struct loan_call *it, size_t count,
                                               struct hub_writer *writer)
{
    const struct rapahub_type *before[HUB_SIGNATURE_ARGUMENTS_MAX + 1];

    memcpy(before, it->call->types, count * sizeof *before); /* the result's type is the first */
    before[count] = NULL;
    if (put(it, before, writer) < 0)
        return -EAGAIN;
    hub_postcard_put_unsigned(writer, it->payload.tail.size);
    return writer->failure < 0 || writer->size > HUB_LOAN_HEAD ? -EAGAIN : 0;
}

/* Encodes all arguments but the last, and the length of that one. If they do not fit before the
 * loan, the general path refuses the call. */
static int put_before(struct loan_call *it, size_t count, struct hub_writer *writer)
{
    const struct rapahub_call *call = it->call;
    const struct rapahub_bytes *last;

    if (count == 0 || call->types[count]->kind != RAPAHUB_KIND_BYTES)
        return -EAGAIN;
    last = call->arguments[count - 1];
    it->payload.tail = *last;
    it->payload.loan = host_loans_of(call->loan, it->life, last);
    if (!it->payload.loan)
        return -EAGAIN;
    return put_plain(it, count, writer) ? 0 : put_types(it, count, writer);
}

static int encode(struct loan_call *it)
{
    const struct rapahub_type *const *types = it->call->types;
    struct hub_writer writer = {.data = it->data, .capacity = sizeof it->data};
    size_t count = count_of(types + 1);
    int r = -EAGAIN;

    if (count <= HUB_SIGNATURE_ARGUMENTS_MAX && (count == 0 || it->call->arguments))
        r = it->call->loan ? put_before(it, count, &writer) : put(it, types, &writer);
    it->payload.head = (struct rapahub_bytes){it->data, writer.size};
    return r;
}

static __attribute__((noinline)) int take(const struct loan_call *it, struct hub_answer *answer)
{
    return host_request_decode(it->life, answer, it->call->method, it->call->types[0], it->result);
}

static __attribute__((noinline)) int take_inline(const struct loan_call *it,
                                                 const struct hub_descriptor *message)
{
    struct hub_answer *answer = &it->caller->few;

    memcpy(answer->data, message->inline_payload, HUB_INLINE_SIZE);
    answer->size = message->payload_len;
    return take(it, answer);
}

/* Waits for the answer. The owner may take turns, and free a life that has ended in one of them: so
 * it is inside from here on, too. */
static __attribute__((noinline)) int wait_and_take(struct loan_call *it, uint64_t number,
                                                   struct hub_answer *answer)
{
    int r;

    if (!it->inside)
        host_caller_enter(it->caller);
    it->inside = true;
    r = host_request_wait(it->host, it->life->connection.calls, number, false);
    return r < 0 ? host_life_explain(it->life, r, it->call->method) : take(it, answer);
}

/* Reads the answer as a view where possible, as most large answers are. */
static int take_answered(const struct loan_call *it, const struct hub_descriptor *message,
                         struct hub_answer *answer)
{
    if (message->payload_slot == HUB_INLINE)
        return take_inline(it, message);
    if (answer->view.link && host_request_decode_shown(answer, it->call->types[0], it->result))
        return 0;
    return take(it, answer);
}

static struct hub_direct_order order_of(const struct loan_call *it, struct hub_answer *answer,
                                        uint64_t id)
{
    const struct rapahub_call *call = it->call;

    return (struct hub_direct_order){.timeout_ns = call->timeout_ns
                                                       ? call->timeout_ns
                                                       : it->host->process.options.call_timeout_ns,
                                     .answer = answer,
                                     .looks_soon = it->owner,
                                     .view = call->view && it->life->segment.trusted,
                                     .payload = &it->payload,
                                     .method_id = id};
}

static int run(struct loan_call *it, uint64_t id, struct hub_answer *answer)
{
    const struct hub_direct_order order = order_of(it, answer, id);
    struct hub_descriptor message = {.method_id = id};
    uint64_t number;

    switch (hub_direct_call(it->life->connection.calls, &message, &order, &number)) {
    case HUB_DIRECT_ANSWERED:
        return take_answered(it, &message, answer);
    case HUB_DIRECT_SENT:
        return wait_and_take(it, number, answer);
    default:
        return -EAGAIN;
    }
}

/* Shows the answer. The hold of the loan on its life passes to what is shown. */
static void show(const struct loan_call *it, struct hub_answer *answer)
{
    struct host_life *life = NULL;

    if (it->call->loan)
        life = host_loans_inherit(it->host, it->call->loan);
    if (life)
        host_caller_show_held(it->caller, answer, life);
    else
        host_caller_show_of(it->caller, answer, it->life);
}

/* The arguments may be in the last result, so that is released only after they are encoded. */
static int call_there(struct loan_call *it, uint64_t id)
{
    struct hub_answer answer;
    int r = encode(it);

    if (r < 0)
        return r;
    if (host_caller_shows(it->caller))
        host_caller_hide(it->caller); /* so that its slot is free for this answer */
    host_corks_push(it->host);
    answer = host_caller_answer(it->caller);
    r = run(it, id, &answer);
    if (r == -EAGAIN)
        it->caller->spare = answer;
    else
        show(it, &answer);
    return r;
}

static int leave(const struct loan_call *it, int r)
{
    if (it->inside)
        host_route_cache_leave(it->host, it->caller);
    return r;
}

static void begin(struct loan_call *it, const struct caller *by, const struct rapahub_call *call,
                  void *result)
{
    it->host = by->host;
    it->caller = by->caller;
    it->life = by->life;
    it->call = call;
    it->result = result;
    it->owner = by->owner;
    it->inside = by->inside;
    it->payload = (struct hub_parts){.loan = NULL};
}

static __attribute__((noinline)) int call_any(struct caller by, const struct rapahub_call *call,
                                              uint64_t id, void *result)
{
    struct loan_call it;

    begin(&it, &by, call, result);
    return leave(&it, call_there(&it, id));
}

/* ---- bytes in a loan, and a result of bytes as a view ---- */

static bool is_plain(const struct caller *by, const struct rapahub_call *call, const void *result)
{
    const struct rapahub_type *const *types = call->types;

    return call->loan && call->view && call->arguments && result &&
           types[0]->kind == RAPAHUB_KIND_BYTES && types[1] &&
           types[1]->kind == RAPAHUB_KIND_BYTES && !types[2] && by->life->segment.trusted &&
           by->caller->handle == 0 && (!by->owner || by->host->chain.value == 0);
}

/* Goes on with a call whose answer is of another kind, or has not come yet. */
static __attribute__((noinline)) int go_on(struct caller by, const struct rapahub_call *call,
                                           struct hub_direct_open *open, uint64_t id, void *result)
{
    struct hub_answer answer = host_caller_answer(by.caller);
    struct hub_direct_order order;
    struct loan_call it;
    uint64_t number;
    int r;

    begin(&it, &by, call, result);
    order = order_of(&it, &answer, id);
    if (hub_direct_call_on(it.life->connection.calls, open, &order, &number) == HUB_DIRECT_ANSWERED)
        r = take_answered(&it, &open->message, &answer);
    else
        r = wait_and_take(&it, number, &answer);
    show(&it, &answer);
    return leave(&it, r);
}

/* Reads a view that is not just a result of bytes. */
static __attribute__((noinline)) int take_shown(struct caller by, const struct rapahub_call *call,
                                                void *result)
{
    struct hub_answer answer = host_caller_answer(by.caller);
    struct loan_call it;
    int r;

    answer.view = by.caller->shown.view;
    answer.size = answer.view.size;
    by.caller->shown.view.link = NULL;
    begin(&it, &by, call, result);
    r = take(&it, &answer);
    show(&it, &answer);
    return leave(&it, r);
}

/* Does the same as call_there, but copies no bytes: the arguments are written, and the result is
 * read, where they are. */
static int lend(struct caller *by, const struct rapahub_call *call, uint64_t id, void *result)
{
    const struct rapahub_bytes *last = call->arguments[0];
    struct hub_direct_lent lent = {.loan = host_loans_of(call->loan, by->life, last),
                                   .size = last->size};
    const struct hub_direct_order order = {.looks_soon = by->owner, .method_id = id};
    struct hub_direct_open open;
    struct hub_answer *shown = &by->caller->shown;

    if (!lent.loan || !hub_direct_slot_head(&lent, 1)) /* 1: after no metadata */
        return call_any(*by, call, id, result);
    if (host_caller_shows(by->caller))
        host_caller_hide(by->caller);
    host_corks_push(by->host);
    switch (hub_direct_call_lent(by->life->connection.calls, &order, &lent, &open, &shown->view)) {
    case HUB_DIRECT_ANSWERED:
        break;
    case HUB_DIRECT_SENT:
        return go_on(*by, call, &open, id, result);
    default:
        return call_any(*by, call, id, result);
    }
    shown->size = shown->view.size;
    if (!host_request_decode_shown(shown, call->types[0], result))
        return take_shown(*by, call, result);
    host_caller_show_there(by->caller,
                           host_loans_pass_on(by->host, by->caller, call->loan, lent.loan));
    if (by->inside)
        host_route_cache_leave(by->host, by->caller);
    return 0;
}

__attribute__((noinline, flatten)) int host_loan_call(struct host_call *host,
                                                      const struct rapahub_call *call, void *result)
{
    struct caller by = {.host = host};
    uint64_t id = call->method_id && call->types
                      ? hub_load_relaxed64((const struct hub_a64 *)(const void *)call->method_id)
                      : 0;

    by.caller = id != 0 ? host_route_cache_find(host, call->target) : NULL;
    if (!by.caller)
        return -EAGAIN;
    by.owner = pthread_equal(host->process.owner.threads.owner, by.caller->thread);
    by.inside = !by.owner && host_route_cache_go_in(host, by.caller);
    if (!by.owner && !by.inside)
        return -EAGAIN;
    by.life = host_caller_life(by.caller);
    return is_plain(&by, call, result) ? lend(&by, call, id, result)
                                       : call_any(by, call, id, result);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/small_call.h"

#include <errno.h>
#include <string.h>

#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/call/request.h"
#include "host/call/route_cache.h"
#include "host/owner/ownership.h"
#include "hub/call/direct_call.h"
#include "hub/wire/payload.h"

#define SMALL 512 /* bytes of metadata and arguments; a larger call uses the general path */

/* Returns whether the call is of bytes to bytes, by far the most frequent shape. The few bytes are
 * copied without an encoder, and nothing else is checked. A type of bytes that is not the library's
 * own object goes the way of all other types. */
static bool is_raw(const struct rapahub_call *call)
{
    const struct rapahub_type *const *types = call->types;

    return types && types[0] == &rapahub_type_bytes && types[1] == &rapahub_type_bytes &&
           !types[2] && call->method_id && call->arguments && !call->loan && !call->view;
}

static uint64_t known_id(const struct rapahub_call *call)
{
    return hub_load_relaxed64((const struct hub_a64 *)(const void *)call->method_id);
}

static bool takes_streams(const struct rapahub_type *const *types)
{
    while (*types && !hub_signature_is_stream(*types))
        types++;
    return *types != NULL;
}

uint64_t host_small_call_id(const struct rapahub_call *call)
{
    bool plain = call->method_id && call->types && !call->loan && !call->view &&
                 (call->arguments || !call->types[1]) && !takes_streams(call->types + 1);

    return plain ? known_id(call) : 0;
}

int host_small_call_encode(struct host_call *host, const struct host_caller *caller,
                           const struct rapahub_call *call, struct hub_writer *writer)
{
    static const void *const none[] = {NULL};

    if (host_ownership_is_owner(&host->process.owner) &&
        host->chain.value != 0) /* the general path adds the chain */
        return -EAGAIN;
    if (caller->handle == 0)
        hub_writer_byte(writer, 0); /* no metadata */
    else if (writer->capacity >= HOST_REQUEST_HEAD_MAX)
        writer->size = host_request_head(caller->handle, 0, writer->data);
    else
        return -EAGAIN;
    hub_payload_put_arguments(writer, call->types + 1, call->arguments ? call->arguments : none);
    return writer->failure < 0 ? -EAGAIN : 0;
}

size_t host_small_call_aligned(const struct rapahub_call *call)
{
    return call->arguments ? hub_payload_from_largest(call->types + 1, call->arguments) : 0;
}

/* A call to the target of the thread's last call; the thread is inside. */
struct small_call {
    struct host_call *host;
    struct host_caller *caller;
    struct host_life *life;
    const struct rapahub_call *call;
    uint64_t id, timeout_ns;
    void *result;
    bool owner;
};

static __attribute__((noinline)) int encode(const struct small_call *small,
                                            struct hub_writer *writer)
{
    return host_small_call_encode(small->host, small->caller, small->call, writer);
}

static __attribute__((noinline)) int take(const struct small_call *small, struct hub_answer *answer)
{
    return host_request_decode(small->life, answer, small->call->method, small->call->types[0],
                               small->result);
}

/* Explains why the call was not sent or failed. A call that is tried again needs no explanation. */
static int explain(const struct small_call *small, int r)
{
    return r == -EAGAIN || r == RAPAHUB_ESTALE
               ? r
               : host_life_explain(small->life, r, small->call->method);
}

static __attribute__((noinline)) int wait_and_take(const struct small_call *small, uint64_t number)
{
    struct hub_calls *calls = small->life->connection.calls;
    int r = host_request_wait(small->host, calls, number, false);

    return r < 0 ? explain(small, r) : take(small, &small->caller->quick);
}

static bool is_for_the_long_way(int r)
{
    return r == RAPAHUB_ESTALE || r == RAPAHUB_ENOMETHOD;
}

static bool encode_small(const struct small_call *small, struct hub_descriptor *message)
{
    struct hub_writer writer = {.data = message->inline_payload, .capacity = HUB_INLINE_SIZE};

    if (encode(small, &writer) < 0)
        return false;
    message->payload_len = (uint32_t)writer.size;
    return true;
}

/* Reads an answer of this size that came in a descriptor. */
static int take_small(const struct small_call *small, uint32_t size)
{
    struct hub_answer *answer = &small->caller->few;

    answer->size = size;
    return take(small, answer);
}

static int take_message(const struct small_call *small, const struct hub_descriptor *message)
{
    if (message->payload_slot != HUB_INLINE)
        return take(small, &small->caller->quick);
    memcpy(host_caller_small(small->caller), message->inline_payload,
           HUB_INLINE_SIZE); /* all of it: cheaper */
    return take_small(small, message->payload_len);
}

/* Sends the call directly and receives its answer. Returns -EAGAIN if that is not possible now;
 * nothing was sent then. `payload` NULL: the payload is in the message. */
static int call_directly(const struct small_call *small, struct hub_descriptor *message,
                         const struct hub_parts *payload)
{
    const struct hub_direct_order order = {.timeout_ns = small->timeout_ns,
                                           .answer = &small->caller->quick,
                                           .looks_soon = small->owner,
                                           .payload = payload};
    uint64_t number;

    if (!payload && !encode_small(small, message))
        return -EAGAIN;
    switch (hub_direct_call(small->life->connection.calls, message, &order, &number)) {
    case HUB_DIRECT_ANSWERED:
        return take_message(small, message);
    case HUB_DIRECT_SENT:
        return wait_and_take(small, number);
    default:
        return -EAGAIN;
    }
}

/* Makes a call that is too large for a descriptor directly through a slot, or with a table entry.
 * This is a function of its own so that the quick path stays small. */
static __attribute__((noinline)) int call_any(const struct small_call *small)
{
    struct hub_descriptor message = {.method_id = small->id};
    uint8_t data[SMALL];
    struct hub_writer writer = {.data = data, .capacity = sizeof data};
    uint64_t number;
    int r = encode(small, &writer);

    if (r < 0)
        return r;
    const struct hub_call request = {
        .method_id = small->id,
        .payload = {.head = {data, writer.size}, .aligned = host_small_call_aligned(small->call)},
        .timeout_ns = small->timeout_ns,
        .answer = &small->caller->quick,
        .at_once = true};

    if (writer.size > HUB_INLINE_SIZE)
        r = call_directly(small, &message, &request.payload);
    if (writer.size > HUB_INLINE_SIZE && r != -EAGAIN)
        return r;
    r = hub_calls_begin(small->life->connection.calls, &request, &number);
    return r < 0 ? explain(small, r) : wait_and_take(small, number);
}

static struct small_call describe(struct host_call *host, struct host_caller *caller,
                                  const struct rapahub_call *call, void *result)
{
    return (struct small_call){
        .host = host,
        .caller = caller,
        .life = host_caller_life(caller),
        .call = call,
        .id = known_id(call),
        .timeout_ns = call->timeout_ns ? call->timeout_ns : host->process.options.call_timeout_ns,
        .result = result,
        .owner = pthread_equal(host->process.owner.threads.owner, caller->thread)};
}

static __attribute__((noinline)) int call_there(struct host_call *host, struct host_caller *caller,
                                                const struct rapahub_call *call, void *result)
{
    const struct small_call small = describe(host, caller, call, result);
    struct hub_descriptor message = {.method_id = small.id};
    int r = call_directly(&small, &message, NULL);

    return r == -EAGAIN ? call_any(&small) : r;
}

/* ---- raw methods: bytes to bytes ---- */

/* Checks for no metadata, an OK, a length of one byte, and as many bytes as it says. No answer of
 * less than three bytes passes. */
static bool take_raw(struct host_caller *caller, uint64_t size, struct rapahub_bytes *result)
{
    const uint8_t *data = host_caller_small(caller);
    uint32_t head;

    memcpy(&head, data, sizeof head);
    if ((head & 0xFFFFFF) + (UINT64_C(3) << 16) != size << 16 || !result)
        return false;
    *result = (struct rapahub_bytes){data + HUB_RAW_RESPONSE, size - HUB_RAW_RESPONSE};
    return true;
}

/* Ends a raw call that was not just answered with such bytes. */
static int end_raw(const struct small_call *small, struct hub_direct_end end)
{
    switch (end.outcome) {
    case HUB_DIRECT_ANSWERED:
        return take_small(small, (uint32_t)end.of);
    case HUB_DIRECT_IN_ANSWER:
        return take(small, &small->caller->quick);
    case HUB_DIRECT_SENT:
        return wait_and_take(small, end.of);
    default:
        return call_any(small);
    }
}

/* Goes on with a call that may take a turn. The owner has not entered so far: a life ends only in
 * one of its turns. From here on it is inside. */
static __attribute__((noinline)) int go_on_raw(struct host_call *host, struct host_caller *caller,
                                               const struct rapahub_call *call, void *result,
                                               struct hub_direct_end end)
{
    const struct small_call small = describe(host, caller, call, result);
    int r;

    if (small.owner)
        host_caller_enter(caller);
    r = end_raw(&small, end);
    if (small.owner)
        host_route_cache_leave(host, caller);
    return r;
}

static __attribute__((noinline)) int go_on_answered(struct host_call *host,
                                                    struct host_caller *caller,
                                                    const struct rapahub_call *call, void *result,
                                                    int size)
{
    const struct hub_direct_end end = {HUB_DIRECT_ANSWERED, (uint64_t)size};

    return go_on_raw(host, caller, call, result, end);
}

static inline int call_raw(struct host_call *host, struct host_caller *caller,
                           const struct rapahub_call *call, void *result, bool owner)
{
    struct hub_calls *calls = host_caller_life(caller)->connection.calls;
    const struct rapahub_bytes *in = call->arguments[0];
    struct hub_direct_end end = {HUB_DIRECT_REFUSED, 0};
    int size;

    if ((caller->handle | (owner ? host->chain.value : 0)) != 0 || in->size > HUB_INLINE_SIZE - 2)
        return go_on_raw(host, caller, call, result, end);
    caller->order.timeout_ns = call->timeout_ns;
    caller->order.method_id = known_id(call);
    size = hub_direct_call_bytes(calls, in, &caller->order, owner, &end);
    if (size < 0)
        return go_on_raw(host, caller, call, result, end);
    return take_raw(caller, (uint64_t)size, result)
               ? 0
               : go_on_answered(host, caller, call, result, size);
}

/* Each function that is not marked noinline is inlined into these three: a call uses some thirty
 * functions, and entering and leaving them was half of its work. */
static __attribute__((noinline, flatten)) int call_raw_inside(struct host_call *host,
                                                              struct host_caller *caller,
                                                              const struct rapahub_call *call,
                                                              void *result)
{
    int r;

    if (!host_route_cache_go_in(host, caller))
        return -EAGAIN;
    r = call_raw(host, caller, call, result, false);
    host_route_cache_leave(host, caller);
    return r;
}

/* Makes a call of any types. A call that was not executed is tried again by the general path, which
 * also explains what is wrong. */
static __attribute__((noinline, flatten)) int call_any_inside(struct host_call *host,
                                                              const struct rapahub_call *call,
                                                              void *result)
{
    struct host_caller *caller =
        host_small_call_id(call) != 0 ? host_route_cache_find_at_rest(host, call->target) : NULL;
    int r;

    if (!caller)
        return -EAGAIN;
    host_corks_push(host);
    if (!host_route_cache_go_in(host, caller))
        return -EAGAIN;
    r = call_there(host, caller, call, result);
    host_route_cache_leave(host, caller);
    return is_for_the_long_way(r) ? -EAGAIN : r;
}

/* If a result is shown, the arguments may be in it: the general path encodes them before it
 * releases that. */
__attribute__((flatten)) int host_small_call(struct host_call *host,
                                             const struct rapahub_call *call, void *result)
{
    struct host_caller *caller;
    int r;

    if (!is_raw(call))
        return call_any_inside(host, call, result);
    caller = known_id(call) != 0 ? host_route_cache_find_at_rest(host, call->target) : NULL;
    if (!caller)
        return -EAGAIN;
    host_corks_push(host);
    r = pthread_equal(host->process.owner.threads.owner, caller->thread)
            ? call_raw(host, caller, call, result, true)
            : call_raw_inside(host, caller, call, result);
    return is_for_the_long_way(r) ? -EAGAIN : r;
}

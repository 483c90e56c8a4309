/* SPDX-License-Identifier: Apache-2.0 */
#include "host/small_call.h"

#include <errno.h>
#include <string.h>

#include "host/corks.h"
#include "host/exchange.h"
#include "host/host.h"
#include "hub/link/direct_call.h"
#include "hub/wire/payload.h"

#define SMALL 512 /* bytes of metadata and arguments; more is worth the long way */

void host_small_call_note(struct rapahub_host *host, const struct host_route *route)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);

    if (!scratch || !route->life || !route->container || host_scratch_is_inside(scratch))
        return;
    scratch->target = route->container->id;
    scratch->handle = route->handle;
    host_scratch_set_place(scratch, route->life, route->container, route->version);
}

bool host_small_call_is_to(const struct host_scratch *scratch, struct rapahub_container_id target)
{
    return scratch->target.pool.major == target.pool.major &&
           scratch->target.pool.minor == target.pool.minor &&
           scratch->target.container == target.container;
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

    return plain ? hub_peek64((const struct hub_a64 *)(const void *)call->method_id) : 0;
}

int host_small_call_encode(struct rapahub_host *host, const struct host_scratch *scratch,
                           const struct rapahub_call *call, struct hub_writer *writer)
{
    static const void *const none[] = {NULL};
    uint64_t chain = host_threads_is_owner(host) ? host->chain : 0;

    if ((scratch->handle | chain) == 0)
        hub_writer_byte(writer, 0); /* no metadata */
    else if (writer->capacity >= HOST_EXCHANGE_HEAD_MAX)
        writer->size = host_exchange_head(scratch->handle, chain, writer->data);
    else
        return -EAGAIN;
    hub_payload_put_arguments(writer, call->types + 1, call->arguments ? call->arguments : none);
    return writer->failure < 0 ? -EAGAIN : 0;
}

/* One call to where the thread called before; inside. */
struct small_call {
    struct rapahub_host *host;
    struct host_scratch *scratch;
    struct host_life *life;
    const struct rapahub_call *call;
    uint64_t id, timeout_ns;
    void *result;
    bool owner;
};

static int encode(const struct small_call *small, struct hub_writer *writer)
{
    return host_small_call_encode(small->host, small->scratch, small->call, writer);
}

static int take(const struct small_call *small, struct hub_answer *answer)
{
    return host_exchange_take(small->life, answer, small->call->method, small->call->types[0],
                              small->result);
}

/* Why it was not sent, or has not ended well; of what is tried again nothing need be said. */
static int explain(const struct small_call *small, int r)
{
    return r == -EAGAIN || r == RAPAHUB_ESTALE
               ? r
               : host_life_explain(small->life, r, small->call->method);
}

static int wait_and_take(const struct small_call *small, uint64_t number)
{
    struct hub_calls *calls = small->life->connection.calls;
    int r = host_exchange_wait(small->host, calls, number, false);

    return r < 0 ? explain(small, r) : take(small, &small->scratch->quick);
}

/* The raw shape, by far the most frequent: its few bytes are moved by hand. */
static bool is_raw(const struct small_call *small)
{
    const struct rapahub_type *const *types = small->call->types;

    return types[0]->kind == RAPAHUB_KIND_BYTES && types[1] &&
           types[1]->kind == RAPAHUB_KIND_BYTES && !types[2];
}

static bool encode_raw(const struct small_call *small, struct hub_descriptor *message)
{
    const struct rapahub_bytes *in = small->call->arguments[0];

    if (in->size > HUB_INLINE_SIZE - 2 || small->scratch->handle != 0 ||
        (small->owner && small->host->chain != 0))
        return false;
    message->inline_payload[1] = (uint8_t)in->size; /* behind no metadata */
    if (in->size > 0)
        memcpy(message->inline_payload + 2, in->data, in->size);
    message->payload_len = 2 + (uint32_t)in->size;
    return true;
}

/* No metadata, a result, one byte of length, and as many as it says. */
static bool take_raw(const struct small_call *small, const struct hub_answer *answer)
{
    const uint8_t *data = answer->data;

    if (answer->size < 3 || (data[0] | data[1]) != 0 || data[2] != answer->size - 3 ||
        !small->result)
        return false;
    *(struct rapahub_bytes *)small->result = (struct rapahub_bytes){data + 3, data[2]};
    return true;
}

static bool encode_small(const struct small_call *small, bool raw, struct hub_descriptor *message)
{
    struct hub_writer writer = {.data = message->inline_payload, .capacity = HUB_INLINE_SIZE};

    if (raw)
        return encode_raw(small, message);
    if (encode(small, &writer) < 0)
        return false;
    message->payload_len = (uint32_t)writer.size;
    return true;
}

/* Sent and answered at once, where that goes; else -EAGAIN, and nothing was sent. */
static int call_directly(const struct small_call *small)
{
    const struct hub_direct_order order = {small->timeout_ns, &small->scratch->quick, small->owner};
    struct hub_descriptor message = {.method_id = small->id};
    struct hub_answer answer = {.data = small->scratch->small};
    bool raw = is_raw(small);
    uint64_t number;

    if (!encode_small(small, raw, &message))
        return -EAGAIN;
    switch (hub_direct_call(small->life->connection.calls, &message, &order, &number)) {
    case HUB_DIRECT_ANSWERED: /* all of it: that is cheaper */
        memcpy(answer.data, message.inline_payload, HUB_INLINE_SIZE);
        answer.size = message.payload_len;
        return raw && take_raw(small, &answer) ? 0 : take(small, &answer);
    case HUB_DIRECT_SENT:
        return wait_and_take(small, number);
    default:
        return -EAGAIN;
    }
}

static int call_any(const struct small_call *small)
{
    uint8_t data[SMALL];
    struct hub_writer writer = {.data = data, .capacity = sizeof data};
    uint64_t number;
    int r = encode(small, &writer);

    if (r < 0)
        return r;
    const struct hub_call request = {.method_id = small->id,
                                     .payload = {.head = {data, writer.size}},
                                     .timeout_ns = small->timeout_ns,
                                     .answer = &small->scratch->quick,
                                     .at_once = true};

    r = hub_calls_begin(small->life->connection.calls, &request, &number);
    return r < 0 ? explain(small, r) : wait_and_take(small, number);
}

/* What was not executed is tried again, the long way; also to say what is wrong. */
static int call_there(const struct small_call *small)
{
    int r;

    if (host_scratch_shows(small->scratch))
        host_scratch_hide(small->scratch);
    host_corks_push(small->host);
    r = call_directly(small);
    if (r == -EAGAIN)
        r = call_any(small);
    return r == RAPAHUB_ESTALE || r == RAPAHUB_ENOMETHOD ? -EAGAIN : r;
}

int host_small_call(struct rapahub_host *host, const struct rapahub_call *call, void *result)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);
    uint64_t id = host_small_call_id(call);
    bool same, ended;
    int r = -EAGAIN;

    if (!scratch || id == 0 || !host_small_call_is_to(scratch, call->target) ||
        host_scratch_is_inside(scratch) || hub_peek(&host->version) != scratch->version)
        return -EAGAIN;
    host_scratch_enter(scratch);
    same = hub_observe(&host->version) == scratch->version;
    if (same)
        r = call_there(&(struct small_call){host, scratch, host_scratch_life(scratch), call, id,
                                            call->timeout_ns ? call->timeout_ns
                                                             : host->options.call_timeout_ns,
                                            result, host_threads_is_owner(host)});
    ended = !same || hub_link_closed(host_scratch_life(scratch)->connection.link);
    host_scratch_leave(scratch);
    if (ended)
        host_loop_wake(&host->loop); /* the owner may wait for who is inside */
    return r;
}

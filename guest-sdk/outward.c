/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/outward.h"

#include <stdlib.h>
#include <string.h>

#include "guest-sdk/arrived.h"
#include "guest-sdk/lifecycle.h"
#include "guest-sdk/serve.h"
#include "hub/base/clock.h"
#include "hub/call/call_deadline.h"
#include "hub/call/direct_call.h"
#include "hub/connection/streams.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/raw.h"

#define TIMEOUT (30 * HUB_SECOND)
#define SMALL   512 /* larger metadata and arguments are not encoded on the stack */

/* A call under way. */
struct operation {
    struct guest *guest;
    const struct rapahub_call *call;
    /* The method: its id, the types of its result and arguments, and its name for error texts. They
     * point into the call if it has them all, else into `signature`, which is NULL until then. */
    uint64_t id;
    const struct rapahub_type *const *types;
    const char *name;
    struct hub_signature *signature;
    uint64_t number;
    uint64_t span_ns, deadline_ns; /* time limit, and the time when it ends; 0: not computed yet */
    struct hub_answer *answer;
    struct hub_stream_marks *marks; /* large: only its count is cleared */
    struct hub_streams *streams;    /* NULL: no argument is a stream */
};

/* Returns the deadline of the whole call, which is computed once. */
static uint64_t deadline_of(struct operation *operation)
{
    if (operation->deadline_ns == 0)
        operation->deadline_ns = hub_clock_after(operation->span_ns);
    return operation->deadline_ns;
}

/* The host could not make the call: its code becomes the caller's, as from rapahub_host_call. */
static int fail_as_host(const struct hub_response *response)
{
    int code = response->code < 0 ? response->code : RAPAHUB_EPROTOCOL;

    return rapahub_fail(code, "", "%.*s", (int)response->text.size, response->text.data);
}

/* Decodes the head of the answer, so that `reader` is at the result. A failure if the call failed.
 */
static int open_answer(const struct operation *operation, struct hub_reader *reader)
{
    struct hub_response response;
    int r;

    hub_reader_init(reader, operation->answer->data, operation->answer->size);
    r = hub_response_decode(reader, &response);
    if (r == 0 && response.kind == HUB_RESPONSE_USER && response.fault == HUB_FAULT_ROUTE)
        return fail_as_host(&response);
    if (r == 0 && response.kind != HUB_RESPONSE_OK)
        r = hub_response_code(&response, operation->name);
    return r;
}

/* Finds the types of the call. They must come from the calling chimod, because no other one can say
 * how its memory is laid out. r[impl hub.call.memory] */
static int make_signature(struct operation *operation)
{
    const struct rapahub_call *call = operation->call;

    if (call->types)
        return hub_signature_make(call->method, call->types, &operation->signature);
    if (!hub_signature_is_name(call->method))
        return hub_signature_parse(call->method, &operation->signature);
    return rapahub_fail(RAPAHUB_EINVAL, "hub.call.memory",
                        "the types of %s are not said: give `types`, or its whole signature",
                        call->method);
}

/* Says whether the method's id is known from an earlier call, so that no signature need be made. */
static bool is_known(struct operation *operation)
{
    const struct rapahub_call *call = operation->call;

    if (!call->method_id || !call->types)
        return false;
    operation->id = hub_load_relaxed64((const struct hub_a64 *)(const void *)call->method_id);
    operation->types = call->types;
    operation->name = call->method;
    return operation->id != 0;
}

static int find_method(struct operation *operation)
{
    int r = is_known(operation) ? 1 : make_signature(operation);

    if (r != 0)
        return r < 0 ? r : 0;
    operation->id = operation->signature->id;
    operation->types = operation->signature->types;
    operation->name = operation->signature->name;
    if (operation->call->method_id)
        hub_store_relaxed64((struct hub_a64 *)(void *)operation->call->method_id, operation->id);
    return 0;
}

/* Returns the chain of the request that runs now, or a new one. Numbers of chains that begin in a
 * guest are odd; the numbers that a host gives to chains are even. r[impl sec.call.chain] */
static uint64_t chain_of(struct guest *guest)
{
    const struct guest_frame *frame = guest->frame;

    if (frame && frame->request->metadata.chain != 0)
        return frame->request->metadata.chain;
    return guest->next_chain += 2;
}

/* Accepts requests of the chains that wait here, and those of the host that do not wait for other
 * requests. */
static bool is_ours(void *user, const struct hub_request *request)
{
    const struct guest *guest = user;

    if (request->metadata.chain == 0)
        return guest_lifecycle_serves_meanwhile(guest, request);
    for (uint32_t i = 0; i < guest->depth; i++)
        if (request->metadata.chain == guest->chains[i])
            return true;
    return false;
}

static bool has_news(void *user)
{
    struct operation *operation = user;

    return hub_load_relaxed(&operation->guest->arrived) != 0 ||
           hub_calls_ended(operation->guest->attach.connection.calls, operation->number);
}

/* Waits for the answer. Meanwhile it serves requests of this chain; all others stay in the queue.
 */
static int wait_for_answer(struct operation *operation)
{
    struct guest *guest = operation->guest;
    int r;

    while ((r = hub_calls_wait(guest->attach.connection.calls, operation->number, true)) ==
           -EAGAIN) {
        const struct hub_link_until until = {
            .done = has_news,
            .user = operation,
            .stage = HUB_WAIT_SLEEP,
            .deadline_ns = hub_call_deadline_of(guest->attach.connection.calls, operation->number)};

        guest_arrived_clear(&guest->arrived);
        if (!guest_serve_one(guest, is_ours) &&
            !hub_calls_ended(guest->attach.connection.calls, operation->number))
            (void)hub_link_wait(guest->attach.connection.link, &until);
    }
    hub_store_relaxed(&guest->arrived, 1); /* other requests may have come meanwhile */
    return r;
}

/* Describes the payload. If it goes into a slot, its largest bytes begin at a line. */
static struct hub_parts parts_of(const struct operation *operation, struct rapahub_bytes payload)
{
    bool small = payload.size <= HUB_INLINE_SIZE || !operation->call->arguments;

    return (struct hub_parts){
        .head = payload,
        .aligned =
            small ? 0 : hub_payload_from_largest(operation->types + 1, operation->call->arguments)};
}

/* Makes a direct call, if that is possible. 0: it was answered; 1: it was sent, and must be waited
 * for; -EAGAIN: nothing was sent. The clock is not read unless the call has a deadline already.
 * Responses that were held back are published first. */
static int call_directly(struct operation *operation, struct rapahub_bytes payload)
{
    const struct hub_parts parts = parts_of(operation, payload);
    struct hub_direct_order order = {.method_id = operation->id,
                                     .timeout_ns = operation->deadline_ns
                                                       ? hub_clock_left(operation->deadline_ns)
                                                       : operation->span_ns,
                                     .answer = operation->answer};
    struct hub_direct_end end;

    if (order.timeout_ns == 0 ||
        !hub_responses_reserve(operation->answer, HUB_INLINE_SIZE, HUB_RAW_RESPONSE_PHASE))
        return -EAGAIN;
    order.small = operation->answer->data;
    hub_link_push(operation->guest->attach.connection.link);
    end = hub_direct_call(operation->guest->attach.connection.calls, &parts, &order, false);
    if (end.outcome == HUB_DIRECT_ANSWERED)
        operation->answer->size = (uint32_t)end.of;
    if (end.outcome == HUB_DIRECT_SENT)
        operation->number = end.of;
    return end.outcome == HUB_DIRECT_REFUSED ? -EAGAIN : end.outcome == HUB_DIRECT_SENT;
}

static int begin(struct operation *operation, struct rapahub_bytes payload)
{
    const struct hub_call call = {
        .method_id = operation->id,
        .payload = parts_of(operation, payload),
        .deadline_ns = deadline_of(operation),
        .answer = operation->answer,
        .channels = operation->streams ? hub_streams_channels(operation->streams) : NULL};
    int r = hub_calls_begin(operation->guest->attach.connection.calls, &call, &operation->number);

    if (r == 0 && operation->streams)
        hub_streams_begin(operation->streams, operation->number);
    return r == 0 ? 1 : r;
}

static int send_and_wait(struct operation *operation, struct rapahub_bytes payload)
{
    struct hub_heartbeat *heartbeat = &operation->guest->heartbeat;
    enum hub_heartbeat_stage stage = hub_heartbeat_enter(heartbeat, HUB_HEARTBEAT_WAITS);
    int r = operation->streams ? -EAGAIN : call_directly(operation, payload);

    if (r == -EAGAIN)
        r = begin(operation, payload);
    if (r == 1)
        r = wait_for_answer(operation);
    (void)hub_heartbeat_enter(heartbeat, stage);
    return r;
}

static bool is_good(const struct hub_answer *answer)
{
    struct hub_response response;
    struct hub_reader reader;

    hub_reader_init(&reader, answer->data, answer->size);
    return hub_response_decode(&reader, &response) == 0 && response.kind == HUB_RESPONSE_OK;
}

/* The same for a call with streams, which other threads move while this one waits. If the call and
 * one of the caller's own streams fail, the failure of the stream is returned. */
static int stream_and_wait(struct operation *operation, struct rapahub_bytes payload)
{
    const struct hub_streams_order order = {.connection = &operation->guest->attach.connection,
                                            .marks = operation->marks,
                                            .arguments = payload,
                                            .deadline_ns = deadline_of(operation),
                                            .patience_ns = hub_clock_left(deadline_of(operation))};
    int r = hub_streams_open(&order, &operation->streams);
    int failure;

    if (r < 0)
        return r;
    r = send_and_wait(operation, hub_streams_arguments(operation->streams));
    hub_streams_close(operation->streams, r == 0 && is_good(operation->answer));
    while (!hub_streams_settle(operation->streams, hub_clock_after(HUB_SECOND)))
        continue;
    failure = hub_streams_finish(&operation->streams);
    return failure < 0 ? failure : r;
}

static void write_payload(struct hub_writer *writer, const struct hub_metadata *metadata,
                          struct operation *operation)
{
    if (hub_metadata_write(writer, metadata) == 0)
        hub_stream_ids_put(writer, operation->types + 1, operation->call->arguments,
                           operation->marks);
}

static int check_payload(const struct operation *operation, const struct hub_writer *writer)
{
    return writer->failure < 0
               ? rapahub_fail(RAPAHUB_EINVAL, "", "an argument of %s is not valid UTF-8",
                              operation->name)
               : 0;
}

/* Encodes metadata and arguments into memory that stays while other requests are served: `small`,
 * or, if they are larger, memory of their own, which the caller frees. */
static int make_payload(struct operation *operation, uint64_t chain, uint8_t small[SMALL],
                        void **own, struct rapahub_bytes *out)
{
    const struct rapahub_call *call = operation->call;
    uint8_t target[HUB_LIFECYCLE_QUERY_MAX];
    const struct hub_metadata metadata = {
        .chain = chain,
        .target = {target, call->query ? hub_lifecycle_put_query(call->target, call->query, target)
                                       : hub_lifecycle_put_target(call->target, target)}};
    struct hub_writer writer;

    hub_writer_init(&writer, small, SMALL);
    write_payload(&writer, &metadata, operation);
    *out = (struct rapahub_bytes){small, writer.size};
    if (writer.failure != -EMSGSIZE)
        return check_payload(operation, &writer);
    hub_writer_count(&writer);
    write_payload(&writer, &metadata, operation);
    if (writer.failure < 0)
        return check_payload(operation, &writer);
    *own = malloc(writer.size + 1);
    if (!*own)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the arguments of %s",
                            operation->name);
    hub_writer_init(&writer, *own, writer.size + 1);
    write_payload(&writer, &metadata, operation);
    *out = (struct rapahub_bytes){*own, writer.size};
    return 0;
}

static int take_result(const struct operation *operation, void *result)
{
    const struct rapahub_type *type = operation->types[0];
    const struct rapahub_type *const types[] = {type, NULL};
    static const size_t at_start[] = {0};
    struct hub_reader reader;
    int r = open_answer(operation, &reader);

    if (r < 0)
        return r;
    if (type->kind != RAPAHUB_KIND_VOID)
        hub_payload_decode(&reader, type, result);
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "message.decode-error",
                            "the answer to %s cannot be read", operation->name);
    return hub_align_values(types, result, at_start, &operation->answer->aligned);
}

static int run_operation(struct operation *operation, void *result)
{
    struct guest *guest = operation->guest;
    struct rapahub_bytes payload;
    uint8_t small[SMALL];
    void *own = NULL;
    int r = find_method(operation);

    if (r == 0)
        r = hub_payload_count(operation->name, operation->types + 1, operation->call->arguments);
    if (r == 0)
        r = make_payload(operation, guest->chains[guest->depth - 1], small, &own, &payload);
    if (r == 0 && operation->marks->count > 0)
        r = stream_and_wait(operation, payload);
    else if (r == 0)
        r = send_and_wait(operation, payload);
    free(own);
    return r == 0 ? take_result(operation, result) : r;
}

/* Makes a text for a code that has none. */
static int explain(int r, const char *method)
{
    if (r < 0 && rapahub_last_error()->code != r)
        return rapahub_fail(r, "", "%s: %s", method, rapahub_error_text(r));
    return r;
}

int guest_outward_call(struct guest *guest, const struct rapahub_call *call, void *result)
{
    struct hub_stream_marks marks;
    struct operation operation = {.guest = guest,
                                  .marks = &marks,
                                  .call = call,
                                  .span_ns = call->timeout_ns != 0 ? call->timeout_ns : TIMEOUT};
    int r;

    if (!call->method)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a call without a method");
    if (call->loan)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a chimod's own calls take no loan");
    if (call->query && call->query->each)
        return rapahub_fail(RAPAHUB_ENOTSUP, "",
                            "a query of a chimod has no `each`: call one container after another");
    if (guest->depth == GUEST_DEPTH_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "", "%d calls wait inside of each other",
                            GUEST_DEPTH_MAX);
    rapahub_clear_error();
    marks.count = 0;
    operation.answer = &guest->answers[guest->depth];
    guest->chains[guest->depth++] = chain_of(guest);
    r = run_operation(&operation, result);
    guest->depth--;
    hub_signature_release(&operation.signature);
    return explain(r, call->method);
}

void guest_outward_fini(struct guest *guest)
{
    for (uint32_t i = 0; i < GUEST_DEPTH_MAX; i++)
        hub_responses_fini(&guest->answers[i]);
}
